# Make the tables of coefficients and prices.csv anew, with R 4.2.2, glmnet 4.1-6 and mgcv 1.8-41 of Debian 12:
#     apt-get install -y --no-install-recommends r-base-core r-cran-glmnet r-cran-mgcv
#     Rscript tests/auditing/exported/r/make.R tests/auditing/exported
# Writes r/NAME.csv as R's users do, and r/prices.csv, 100 rows with what predict gives for each model.
library(glmnet)
library(mgcv)
at <- commandArgs(trailingOnly = TRUE)[1]
rows <- read.csv(file.path(at, "own", "portfolio.csv"), stringsAsFactors = TRUE)
rows <- rows[1:100, c("age", "power", "bonus", "region", "band")]
set.seed(1)
rows$new <- rows$age < 40
rows$size <- cut(rows$power, c(0, 5, 8, 20), labels = c("small", "middle", "large"), ordered_result = TRUE)
y <- rpois(nrow(rows), exp(0.01 * rows$age + 0.3 * (rows$region == "west") + 0.2 * rows$new))
out <- rows
keep <- function(name, coefficients, price) {
    write.csv(signif(coefficients, 9), file.path(at, "r", paste0(name, ".csv")))
    out[[name]] <<- signif(as.numeric(price), 9)
}
keep_glm <- function(name, formula, ...) {
    model <- glm(formula, family = poisson(), data = rows, ...)
    keep(name, coef(summary(model)), predict(model, rows, type = "response"))
}
keep_glm("logical", y ~ age + new)
keep_glm("product", y ~ age * region + new:region)
keep_glm("ordered", y ~ age + size)
keep_glm("sums", y ~ age + region, contrasts = list(region = contr.sum))
keep_glm("poly", y ~ poly(age, 2) + region)
keep_glm("logged", y ~ log(bonus) + factor(power))
keep_glm("square", y ~ age + I(age^2))
x <- model.matrix(~ age + bonus + region + new, rows)[, -1]
net <- glmnet(x, y, family = "poisson", lambda = 0.02)
keep("glmnet", as.matrix(coef(net)), predict(net, x, type = "response"))
smooth <- gam(y ~ s(age) + region, family = poisson(), data = rows)
keep("gam", as.matrix(coef(smooth)), predict(smooth, rows, type = "response"))
keep("gam_table", summary(smooth)$p.table, predict(smooth, rows, type = "response"))
plain <- gam(y ~ age + region + new, family = poisson(), data = rows)
keep("gam_plain", summary(plain)$p.table, predict(plain, rows, type = "response"))
write.csv(out, file.path(at, "r", "prices.csv"), row.names = FALSE)
