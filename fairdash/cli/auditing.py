"""Commands of the audit, and the comparison of a repeated audit with its evidence file (zip)."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from fairdash.auditing import plan as plans
from fairdash.auditing.audit import execute_audit
from fairdash.auditing.evidence import AuditResult, command_of, read_plan
from fairdash.auditing.filing.rules import RULES, Rule, template_of
from fairdash.auditing.filing.view import summary_of
from fairdash.auditing.models import ModelFile
from fairdash.auditing.models.foreign import ForeignModel
from fairdash.auditing.models.model_answers import MODEL_PRICE
from fairdash.auditing.plan import AuditPlan, plan_of
from fairdash.auditing.result import CONTENT, Findings
from fairdash.cli import AsJson, Columns, print_result, with_options
from fairdash.cli.reading import Marks, chosen_reading, read_file
from fairdash.data.catalogue import load_dataset
from fairdash.errors import OptionError
from fairdash.storage import sha256, write_whole
from fairdash.tables.model_files.model_file import content_of
from fairdash.tables.readers.reading import bytes_of
from fairdash.tables.readers.report import ReadingOptions
from fairdash.utils.imports import has, need
from fairdash.utils.options import options_of
from fairdash.utils.records import from_plain, to_plain
from fairdash.utils.text import counted, few
from fairdash.views.blocks import lines_of
from fairdash.views.reports.pdf import as_pdf, printer

#: Fields that are not compared. They describe the audit and the machine, or are sentences, which repeat
#: numbers.
_NOT_COMPARED = ("plan", "origin", "made_with", "since", "answers", "notes")


def compare_repeated(now: Findings, before: Findings) -> str:
    """State whether a repeated audit equals its evidence zip, and how far numbers and verdicts differ."""
    if now.files()[CONTENT] == before.files()[CONTENT]:
        return "The answers and tables equal those in the evidence zip byte for byte."
    if now.origin.get("rows_sha256") != before.origin.get("rows_sha256"):
        return (
            "These rows differ from those of the evidence zip. Give the same file, or compare samples with "
            "--against."
        )
    return " ".join(
        _sentences(dict(_values_by_path(before.to_dict(), ())), dict(_values_by_path(now.to_dict(), ())))
    ) + _version_differences(now, before)


def _sentences(text_before: dict[tuple[str, ...], Any], new: dict[tuple[str, ...], Any]) -> Iterator[str]:
    largest: dict[str, float] = {}
    for path, value in text_before.items():
        if isinstance(value, float):
            largest[_column(path)] = max(largest.get(_column(path), 0.0), abs(value))
    differences = {
        path: _relative_difference(text_before.get(path), new.get(path), largest.get(_column(path), 0.0))
        for path in text_before | new
    }
    largest_path = max(differences, key=lambda path: differences[path])
    where = _column(largest_path)
    if differences[largest_path] == 0:
        yield "All numbers equal those in the evidence zip."
    elif math.isinf(differences[largest_path]):
        yield f"The results differ from the evidence zip in more than numbers, first in “{where}”."
    else:
        yield f"The numbers differ by at most {differences[largest_path]:.1g} of the largest in their column:"
        yield f"“{where}” was {text_before[largest_path]:.6g} and is {new[largest_path]:.6g}."
    changed = sum(gap > 0 for path, gap in differences.items() if path[-1] == "verdict")
    yield f"{counted(changed, 'verdict')} changed." if changed else "No verdict changed."


def _column(path: tuple[str, ...]) -> str:
    return ".".join(name for name in path if not name.isdigit())


def _values_by_path(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every number and string of the results with its path."""
    if isinstance(value, dict | list):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            if name not in _NOT_COMPARED:
                yield from _values_by_path(item, (*path, str(name)))
    else:
        yield path, value


def _relative_difference(value_before: Any, new: Any, scale: float) -> float:
    """Return the difference of two numbers as a share of `scale`, or infinity for other unequal values."""
    if value_before == new:
        return 0.0
    if isinstance(value_before, float) and isinstance(new, float | int) and scale > 0:
        return abs(value_before - new) / scale
    return math.inf


def _version_differences(now: Findings, other_evidence: Findings) -> str:
    others = (
        f"{name} {other_evidence.made_with.get(name, 'unknown')} (now {now.made_with.get(name, 'unknown')})"
        for name in sorted(other_evidence.made_with.keys() | now.made_with.keys())
        if other_evidence.made_with.get(name) != now.made_with.get(name)
    )
    names_in_text = ", ".join(others)
    return f" The evidence was made with {names_in_text}." if names_in_text else ""


#: Names of the files with the filing and with a customer's page, in a folder.
FILING, CUSTOMER = "filing.html", "customer.html"
_PAGES = (".html", ".pdf")
_NO_FIGURES = (
    "The report in the zip will have no figures: they need the package plotly, which is not installed. "
    'Install it: pip install "fairdash[plot]".'
)
#: Exit status by verdict. Status 2 means an unsuitable input.
_STATUS = {"below": 0, "above": 1, "undecided": 3}


@with_options(plans.Columns, AuditPlan, ModelFile)
def audit(
    file: Path | None = None,
    /,
    *,
    plan: Path | None = None,
    model: Path | None = None,
    sheet: str | None = None,
    missing: Marks = (),
    one_spelling: Columns = (),
    against: Path | None = None,
    out: Path | None = None,
    template: str | None = None,
    governance: Path | None = None,
    pdf: bool = False,
    as_json: AsJson = False,
    **options: Any,
) -> int:
    """Audit an existing price against a sensitive column of its table.

    Parameters
    ----------
    file
        Table with a header, such as a CSV or XLSX file. Omit the file for the plan of a built-in data set.
    plan
        Evidence zip of an earlier audit, or the plan.json in it. The audit is repeated without other options.
        With a zip, the new results are compared with those in the zip.
    model
        File with a model of the price: ONNX, LightGBM, XGBoost, CatBoost, PMML of a GLM, or a table of
        factors. The command `models` describes the file. --price is then the name of the model's price.
        Pickles are never loaded.
    sheet
        Sheet of a workbook, or table of an R file or a SAS transport file.
    missing
        Text that marks missing cells in addition to the usual marks, such as 999, or age=999 for a single
        column; repeatable.
    one_spelling
        Column in which spellings of a level, such as male and Male, are replaced by the most common spelling;
        repeatable.
    against
        Evidence zip of an earlier audit. The new audit lists the changes since then.
    out
        File or folder to write: a .zip for all results (evidence), an .html or .pdf for the filing alone, or
        a folder for answers and tables. With --customer, the command also writes a page in plain words that
        answers a complaint, customer.html (or .pdf), to this folder or next to this file.
    template
        Id of a rule. The command writes a filing under the rule's headings, to the folder --out or next to
        the file --out. The command `rules` lists the ids.
    governance
        YAML file with the texts that only you can write, by default governance.yaml next to the filing. If
        the file is missing, it is created with blanks.
    pdf
        Write the filing and the customer's page also as tagged PDF files, with hashes on every page.
    """
    given_options = {name: value for name, value in options.items() if value not in (None, ())}
    model_options = {
        name: given_options.pop(name, item.default or None) for name, item in options_of(ModelFile).items()
    }
    if model is not None and plan is None:
        given_options.setdefault("price", MODEL_PRICE)
    earlier_evidence: Mapping[str, Any] = {}
    if plan is not None:
        if given_options.keys() & {"price", "sensitive"}:
            raise OptionError.of(
                "The plan already has its columns", "Give --plan, or name the columns.", column="plan"
            )
        stored = read_plan(plan)
        requested, earlier_evidence = stored.plan, stored.origin
    else:
        for name, others in (("price", ()), ("sensitive", ("probabilities",))):
            if given_options.keys().isdisjoint((name, *others)):
                hint = f"Give --{name}, or the --plan of an earlier audit."
                raise OptionError.of("No column is named", hint, column=name)
        requested = plan_of(**({"sensitive": ()} | given_options))
    if "model" in earlier_evidence:
        if model is None:
            raise OptionError.of("The plan audits a model", "Name the model's file as well.", column="model")
        stored_options = from_plain(ModelFile, earlier_evidence["model"]).options
        model_options = {
            name: stored_options[name] if model_options[name] in (None, "auto") else model_options[name]
            for name in stored_options
        }
    if model_options["customer"] is not None and model is None:
        hint = "Name the model's file with --model."
        raise OptionError.of("Only a model's price can be explained", hint, column="customer")
    pdf = pdf or (out is not None and out.suffix.lower() == ".pdf")
    page_files = _files_of_pages(template, model_options["customer"], out, pdf=pdf)
    # All files are read first, so that errors of unreadable files are raised before the computation.
    evidence = AuditResult.load(plan) if plan is not None and plan.suffix.lower() == ".zip" else None
    last_audit = None if against is None else AuditResult.load(against)
    if out is not None and out.suffix.lower() == ".zip" and not has("plotly"):
        print(_NO_FIGURES, file=sys.stderr)
    chosen = partial(chosen_reading, sheet=sheet, missing=missing, one_spelling=one_spelling)
    frame, origin = _table(file, earlier_evidence, None if model is not None else requested, reading=chosen)
    result = execute_audit(frame, requested, origin=origin, model=model, **model_options)
    repeated = "" if evidence is None else compare_repeated(result, evidence)
    if last_audit is not None:
        result = result.compare(last_audit)
    repeated_texts = {"repeated": repeated} if repeated else {}
    try:
        print_result(
            result.to_dict() | repeated_texts,
            (*lines_of(summary_of(result)), *repeated_texts.values()),
            as_json=as_json,
        )
        sys.stdout.flush()
    finally:  # A reader such as head may close the pipe, but the files must still be written.
        if out is not None and not (page_files and out.suffix.lower() in _PAGES):
            result.save(out)
        if page_files:
            _write_pages(result, template, model_options["customer"], page_files, governance, pdf=pdf)
    return _STATUS[result.verdict]


def _files_of_pages(template: str | None, customer: Any, out: Path | None, *, pdf: bool) -> dict[str, Path]:
    """Return the files for the filing and the customer's page. An impossible combination of options raises an
    error before the audit.
    """
    if template is not None:
        template_of(template)
        need("matplotlib", "yaml", "plotly")
        if out is None:
            hint = "Give --out, such as filing.html."
            raise OptionError.of("A filing needs an output path", hint, column="template")
    options = {FILING: template, CUSTOMER: customer}
    pages = [name for name, item in options.items() if item is not None and out is not None]
    if pdf:
        if not pages:
            hint = "Give --out, and a --template or a --customer."
            raise OptionError.of("A PDF shows a filing, or a customer's page", hint, column="pdf")
        need("weasyprint")
        printer()
    if out is None or out.suffix.lower() not in (".zip", *_PAGES):
        return {name: out / name for name in pages if out is not None}
    files = {FILING: out.with_suffix(".html"), CUSTOMER: out.with_name(f"{out.stem}-{CUSTOMER}")}
    return {name: files[name] for name in pages}


def _write_pages(
    result: AuditResult,
    template: str | None,
    customer: Any,
    page_files: Mapping[str, Path],
    governance: Path | None,
    *,
    pdf: bool,
) -> None:
    from fairdash.auditing.filing.customer import render_customer
    from fairdash.auditing.filing.document import FILE, kept_governance, render_filing

    for name, file in page_files.items():
        has_texts = template is not None or governance is not None
        answers = kept_governance(governance or file.with_name(FILE)) if has_texts else {}
        page = (
            render_customer(result, answers, row=customer)
            if name == CUSTOMER
            else render_filing(result, str(template), answers, command=command_of(result))
        )
        files = {".html": page} | ({".pdf": as_pdf(page, result.origin)} if pdf else {})
        for ending, content in files.items():
            write_whole(file.with_suffix(ending), content, hint="Choose another file with --out.")


def rules(*, stale: bool = False, as_json: AsJson = False) -> int:
    """List the rules under which an audit can be filed.

    Parameters
    ----------
    stale
        List only rules that were last looked up over a year ago. The exit status is 1 if it finds one.
    """
    today = datetime.now(UTC).date()
    selected = [rule for rule in RULES.values() if not stale or rule.is_stale(today)]
    no_rules = () if selected else ("All rules were looked up within the last year.",)
    print_result(
        [rule.row for rule in selected], (*map(_rule_in_words, selected), *no_rules), as_json=as_json
    )
    return int(stale and bool(selected))


def models(file: Path, /, *, as_json: AsJson = False) -> int:
    """Describe a model's file: kind, objective, link, inputs, outputs, size, and facts that the file lacks.

    Parameters
    ----------
    file
        File with a model, as for `audit --model`.
    """
    description = ForeignModel(content_of(file)).about
    inputs = [
        f"  {field['name']}: {field['type']}" + (f", {few(field['levels'])}" if field["levels"] else "")
        for field in description["inputs"]
    ]
    lines = [f"{name.capitalize()}: {description[name]}" for name in ("kind", "objective", "output", "size")]
    lines += [f"Outputs: {', '.join(description['outputs'])}", f"Inputs ({len(inputs)}):", *inputs]
    unknown = [f"  {column}" for column in description["unknown"]]
    print_result(
        description, (*lines, "Not stated in the file:", *(unknown or ["  nothing"])), as_json=as_json
    )
    return 0


def _rule_in_words(rule: Rule) -> str:
    option = f"--template {rule.id}" if rule.headings else "No template"
    return f"{rule.id}: {rule.title} ({rule.version}). Sources looked up on {rule.looked_up}. {option}."


def _table(
    file: Path | None,
    stored_origin: Mapping[str, Any],
    plan: AuditPlan | None,
    *,
    reading: Callable[[ReadingOptions], ReadingOptions],
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the table to audit and its source. If the plan names features, read only the plan's columns."""
    if file is None:
        if "dataset" not in stored_origin:
            raise OptionError.of("No table is named", "Give a file.", column="file")
        dataset, dataset_options = str(stored_origin["dataset"]), dict(stored_origin.get("options", {}))
        return load_dataset(dataset, **dataset_options).table(), {
            "dataset": dataset,
            "options": dataset_options,
        }
    content = bytes_of(file)
    options = reading(from_plain(ReadingOptions, stored_origin.get("reading", {})))
    columns = None if plan is None or plan.columns.features is None else plan.columns.named
    origin = {"sha256": sha256(content), "reading": to_plain(options)}
    return read_file(content, reading=options, columns=columns)[0], origin
