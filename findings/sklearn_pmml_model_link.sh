#!/usr/bin/env bash
# Package: sklearn-pmml-model 1.0.8, with scikit-learn 1.9.1, pandas 3.1.1 and numpy 2.4.6.
# Seen: PMMLRidge, PMMLLasso and PMMLElasticNet read a GeneralRegressionModel and ignore its linkFunction. For a Poisson
#   model with a log link, as written by R's pmml, predict returns logarithms of prices, some of them below 0. No warning
#   is given.
# Expected: exp of the linear predictor, or a refusal of a link that is not the identity.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check sklearn-pmml-model==1.0.8 scikit-learn==1.9.1 pandas==3.1.1 numpy==2.4.6
env/bin/python > seen.txt <<'PY'
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn_pmml_model.linear_model import PMMLRidge

Path("glm.pmml").write_text("""<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/>
<DataDictionary numberOfFields="2"><DataField name="claims" optype="continuous" dataType="double"/>
<DataField name="age" optype="continuous" dataType="double"/></DataDictionary>
<GeneralRegressionModel modelType="generalizedLinear" functionName="regression" linkFunction="log"
distribution="poisson" targetVariableName="claims"><MiningSchema><MiningField name="claims" usageType="predicted"/>
<MiningField name="age"/></MiningSchema><ParameterList><Parameter name="p0" label="(Intercept)"/>
<Parameter name="p1" label="age"/></ParameterList><FactorList/><CovariateList><Predictor name="age"/></CovariateList>
<PPMatrix><PPCell value="1" predictorName="age" parameterName="p1"/></PPMatrix>
<ParamMatrix><PCell parameterName="p0" df="1" beta="-1"/><PCell parameterName="p1" df="1" beta="0.02"/></ParamMatrix>
</GeneralRegressionModel></PMML>""")
age = np.array([20.0, 50.0, 80.0])
print("stated by the file:", np.exp(-1 + 0.02 * age).round(2).tolist())
print("predict:", (PMMLRidge(pmml="glm.pmml").predict(pd.DataFrame({"age": age})).round(2) + 0.0).tolist())
PY
diff - seen.txt <<'SEEN'
stated by the file: [0.55, 1.0, 1.82]
predict: [-0.6, 0.0, 0.6]
SEEN
