"""Data: which table, and what must not matter?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from fairdash.assessment import group_averages
from fairdash.data.catalogue import CATALOGUE, CatalogueEntry, CatalogueOption, OptionValue
from fairdash.data.cells import MISSING_MARKS
from fairdash.data.dataset import Dataset
from fairdash.data.fetch import sha256
from fairdash.data.profile import ColumnProfile
from fairdash.data.reading import EXCEL, TEXT, ReadingOptions
from fairdash.data.roles import Roles
from fairdash.data.source import CatalogueSource, DatasetSource, UploadSource
from fairdash.data.suggestion import suggest_roles
from fairdash.data.uploads import (
    Upload,
    delete_expired,
    delete_upload,
    keep_upload,
    list_uploads,
    no_longer_kept,
    set_retention,
)
from fairdash.data.wording import counted
from fairdash.errors import DataError, FairdashError, Mend
from fairdash.figures.data import distribution_figure, link_figure
from fairdash.ui.cached import (
    ROWS_MEASURED,
    contents_of,
    dataset_of,
    facts_of,
    forget_uploads,
    link_of,
    upload_of,
)
from fairdash.ui.frame import MEND_LABELS, chart, show_mends, show_problems, theme
from fairdash.ui.pages import page
from fairdash.ui.proxies import show_proxies
from fairdash.ui.state import DEFAULT_SOURCE, choose_source, chosen_source
from fairdash.ui.text import number, safe

UPLOAD = "upload"
ROWS_SHOWN = 8
FOUND = "as found"
NO_COLUMN = "None"
#: The session's own files, by hash, and how many of them were deleted.
UPLOADS, DELETED = "uploads of this session", "uploads deleted"
#: Days to keep a file; None: until it is deleted.
TERMS = [1, 7, 30, 365, None]
#: Where the session keeps the name of what the user has agreed to for the table in view.
MENDS = "mends of the table in view"
EVERY_ROW_ALIKE = "None: every row counts alike"
NO_MARK = "none"
FILE_TYPES = ["csv", "tsv", "txt", "gz", "zip", "xlsx", "xlsm", "parquet", "feather", "arrow", "rda", "rdata"]
DELIMITERS = {FOUND: None, "comma": ",", "semicolon": ";", "tab": "\t", "bar |": "|"}
DECIMALS = {FOUND: None, "point": ".", "comma": ","}
ENCODINGS = {FOUND: None, "UTF-8": "utf-8", "Windows-1252": "cp1252", "UTF-16": "utf-16"}


def current_source() -> DatasetSource:
    """What the address or the session names; if that is gone, say so and begin afresh."""
    try:
        return chosen_source()
    except FairdashError as error:
        show_problems(error)
        return DEFAULT_SOURCE


def ask_for_data(current: DatasetSource) -> DatasetSource | None:
    """The controls: a data set of the catalogue or an upload, and the roles of its columns."""
    begin = current.dataset if isinstance(current, CatalogueSource) else UPLOAD
    choice = st.segmented_control(
        "Table",
        [*CATALOGUE, UPLOAD],
        default=begin,
        required=True,
        format_func=lambda each: CATALOGUE[each].title if each in CATALOGUE else "Your own file",
        key="table",
        label_visibility="collapsed",
    )
    if choice == UPLOAD:
        return ask_for_upload(current if isinstance(current, UploadSource) else None)
    entry = CATALOGUE[choice]
    known = current if isinstance(current, CatalogueSource) and current.dataset == choice else None
    return ask_for_catalogue(entry, known)


def ask_for_catalogue(entry: CatalogueEntry, known: CatalogueSource | None) -> CatalogueSource | None:
    source = f"[{entry.source}]({entry.url})" if entry.url else entry.source
    st.markdown(f"{entry.description} *{source}; {entry.licence}.*")
    options = ask_for_options(entry, known.options if known else {}) if entry.options else {}
    plain = CatalogueSource(dataset=entry.id, options=options)
    if not entry.on_hand():
        if not entry.needs_download:
            bring(entry)
            return None
        if not download(entry, plain):
            return None
    preset = dataset_of(plain)
    roles = known.roles if known and known.roles else preset.roles
    key = f"{plain.id} roles"
    chosen = ask_for_roles(preset.table(), roles, key=key)
    if chosen is None:
        return None
    if chosen == preset.roles:
        return plain
    mends = ask_for_mends(known.mends if known else (), preset.table(), key=key)
    return CatalogueSource(dataset=entry.id, options=options, roles=chosen, mends=mends)


def ask_for_options(entry: CatalogueEntry, known: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    with st.expander("Options of this data set"):
        columns = st.columns(2)
        return {
            option.name: ask_for_option(
                columns[k % 2], option, known.get(option.name, option.default), f"{entry.id} {option.name}"
            )
            for k, option in enumerate(entry.options)
        }


def ask_for_option(place, option: CatalogueOption, value: OptionValue, key: str) -> OptionValue:
    if option.choices is None:
        return int(place.number_input(option.label, option.minimum, option.maximum, int(value), key=key))
    names = list(option.choices)
    return place.selectbox(
        option.label, names, index=names.index(value), format_func=option.choices.__getitem__, key=key
    )


def download(entry: CatalogueEntry, source: CatalogueSource) -> bool:
    """Fetch the data set when asked to; whether it is there now."""
    st.info(f"This data set is not on this machine yet ({entry.size}).")
    if not st.button("Download it from its publisher", type="primary", icon=":material/download:"):
        return False
    bar = st.progress(0.0, text="Connecting…")

    def show(done: int, total: int) -> None:
        bar.progress(min(done / total, 1.0) if total else 0.0, text=f"{done / 1e6:.1f} MB")

    source.load(progress=show)
    bar.empty()
    return True


def bring(entry: CatalogueEntry) -> None:
    """Say how to bring the data set, or take it here and begin again."""
    st.info(f"This data set is not on this machine ({entry.size}). {safe(entry.how_to_bring())}")
    file = st.file_uploader("Or choose the file here", type="csv", key=f"{entry.id} brought")
    if file is not None:
        entry.keep_brought(file.getvalue())
        st.rerun()


def ask_for_file(known: UploadSource | None) -> Upload | None:
    """A new file, or one that was uploaded in this session or is named by the address."""
    delete_expired()
    file = st.file_uploader(
        "A table: CSV of any kind, Excel, Parquet, Feather or R (.rda), packed or not",
        type=FILE_TYPES,
        help="The file stays on this machine. Up to 200 MB.",
        # A file that was deleted must not come back from the browser: the next one has a place of its own.
        key=f"file {st.session_state.get(DELETED, 0)}",
    )
    mine: list[str] = st.session_state.setdefault(UPLOADS, [])
    upload: Upload | None = None
    if file is not None:
        content = file.getvalue()
        digest = sha256(content)
        mine_kept = {each.sha256: each for each in list_uploads() if each.sha256 in mine}
        upload = mine_kept.get(digest) or keep_upload(content, name=file.name)
        if digest not in mine:
            mine.append(digest)
    else:
        if known is not None and known.sha256 not in mine:
            mine.append(known.sha256)
        kept = [each for each in list_uploads() if each.sha256 in mine]
        if known is not None and known.sha256 not in [each.sha256 for each in kept]:
            show_problems(no_longer_kept())
        if kept:
            digests = [each.sha256 for each in kept]
            upload = st.selectbox(
                "or a file that you uploaded before",
                kept,
                index=digests.index(known.sha256) if known and known.sha256 in digests else None,
                format_func=lambda each: f"{each.name}, {each.kept_at:%d %b %Y, %H:%M} UTC",
                placeholder="Choose a file",
            )
    if upload is not None:
        ask_how_long(upload)
    return upload


def ask_how_long(upload: Upload) -> None:
    """How long the file is kept, and a button that deletes it now."""
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    terms = TERMS if upload.keep_days in TERMS else [upload.keep_days, *TERMS]
    days = left.selectbox(
        "Keep this file on this machine",
        terms,
        index=terms.index(upload.keep_days),
        format_func=lambda days: "until I delete it" if days is None else f"for {counted(days, 'day')}",
        key=f"{upload.sha256} days",
    )
    if days != upload.keep_days:
        set_retention(upload.sha256, days)
    right.button(
        "Delete it now",
        icon=":material/delete:",
        width="stretch",
        key=f"{upload.sha256} delete",
        on_click=lambda: delete_file(upload),
    )


def delete_file(upload: Upload) -> None:
    """Delete a file from disk, memory and this session."""
    delete_upload(upload.sha256)
    forget_uploads()
    st.session_state[UPLOADS] = [each for each in st.session_state[UPLOADS] if each != upload.sha256]
    st.session_state[DELETED] = st.session_state.get(DELETED, 0) + 1
    choose_source(DEFAULT_SOURCE)


def ask_for_upload(known: UploadSource | None) -> UploadSource | None:
    upload = ask_for_file(known)
    if upload is None:
        return None
    begin = known.reading if known and known.sha256 == upload.sha256 else ReadingOptions()
    reading = ask_for_reading(upload, begin)
    frame, report = upload_of(upload.sha256, upload.name, reading)
    st.caption("  \n".join(safe(sentence) for sentence in report.sentences()))
    same = known is not None and known.sha256 == upload.sha256
    key = f"{upload.sha256} {list(frame)}"
    chosen = ask_for_roles(frame, known.roles if known and same else None, key=key)
    if chosen is None:
        return None
    mends = ask_for_mends(known.mends if known and same else (), frame, key=key)
    return UploadSource(sha256=upload.sha256, name=upload.name, roles=chosen, reading=reading, mends=mends)


def ask_for_mends(known: tuple[Mend, ...], frame: pd.DataFrame, *, key: str) -> tuple[Mend, ...]:
    """What the user has agreed to so far, each with a button to take it back."""
    state = mends_key(key)
    if state not in st.session_state:
        st.session_state[state] = tuple(mend for mend in known if mend.column in frame)
    st.session_state[MENDS] = state
    agreed: tuple[Mend, ...] = st.session_state[state]
    if agreed:
        with st.container(horizontal=True):
            for mend in agreed:
                label = f"{MEND_LABELS[mend.kind]}: {safe(mend.column)}"
                st.button(
                    label,
                    key=f"{state} undo {mend.kind} {mend.column}",
                    icon=":material/undo:",
                    help="You chose this. Click to take it back.",
                    on_click=lambda mend=mend: take_back(mend),
                )
    return agreed


def mends_key(key: str) -> str:
    return f"{key} mends"


def agree(mend: Mend) -> None:
    """Add a mend; of two that exclude each other the last counts."""
    state = st.session_state[MENDS]

    def goes(each: Mend) -> bool:
        alike = each.column == mend.column and "drop_rows" not in (each.kind, mend.kind)
        return each == mend or alike

    st.session_state[state] = (*(each for each in st.session_state[state] if not goes(each)), mend)


def take_back(mend: Mend) -> None:
    state = st.session_state[MENDS]
    st.session_state[state] = tuple(each for each in st.session_state[state] if each != mend)


def ask_for_reading(upload: Upload, known: ReadingOptions) -> ReadingOptions:
    """How the file is read, where the user decides; what can be chosen depends on what the file is."""
    kind, sheets = contents_of(upload.sha256)
    key = upload.sha256

    def ask(place, title: str, choices: Mapping[str, str | None], value: str | None) -> str | None:
        names = list(choices)
        begin = list(choices.values()).index(value) if value in choices.values() else 0
        return choices[place.selectbox(title, names, index=begin, key=f"{key} {title}")]

    sheet = known.sheet
    if len(sheets) > 1:
        sheet = ask(st, "Sheet", {FOUND: None} | {name: name for name in sheets}, known.sheet)
    encoding, delimiter, decimal = known.encoding, known.delimiter, known.decimal
    with st.expander("How the file is read"):
        if kind == TEXT:
            left, middle, right = st.columns(3)
            encoding = ask(left, "Encoding", ENCODINGS, known.encoding)
            delimiter = ask(middle, "Between the cells", DELIMITERS, known.delimiter)
            decimal = ask(right, "Decimal mark", DECIMALS, known.decimal)
        marks = st.text_input(
            "Marks of a missing cell, separated by spaces",
            "" if known.missing_values is None else " ".join(known.missing_values) or NO_MARK,
            placeholder=" ".join(MISSING_MARKS) if kind in (TEXT, EXCEL) else FOUND,
            help=f"Write {NO_MARK} if only the empty cell is missing.",
            key=f"{key} marks",
        )
    missing = tuple(mark for mark in marks.split() if mark != NO_MARK) if marks.strip() else None
    return ReadingOptions(
        encoding=encoding, delimiter=delimiter, decimal=decimal, missing_values=missing, sheet=sheet
    )


def ask_for_roles(frame: pd.DataFrame, known: Roles | None, *, key: str) -> Roles | None:
    """Which column plays which part; None while target or sensitive column is missing."""
    columns = list(frame.columns)
    if known is None:
        suggestion = suggest_roles(frame)
        target, sensitive, features = suggestion.target, suggestion.sensitive[:1], suggestion.features
        weight, row_id, prediction = suggestion.weight, suggestion.row_id, suggestion.prediction
    else:
        target, sensitive, features = known.target, known.sensitive[:1], known.features
        weight, row_id, prediction = known.weight, known.row_id, known.prediction
    left, right = st.columns(2)
    new_target = left.selectbox(
        "Target: what is predicted",
        columns,
        index=columns.index(target) if target else None,
        placeholder="Choose a column",
        key=f"{key} target",
    )
    new_sensitive = right.selectbox(
        "Sensitive attribute: what must not matter",
        columns,
        index=columns.index(sensitive[0]) if sensitive else None,
        placeholder="Choose a column",
        key=f"{key} sensitive",
    )
    with st.expander(f"Features, exposure and others (of {counted(len(columns) - 2, 'column')})"):
        taken = [new_target, new_sensitive]
        left, middle, right = st.columns(3)

        def ask(place, title: str, none: str, value: str | None, about: str) -> str | None:
            # "None" is an option of its own: a selectbox that begins with a choice can't be cleared.
            others = [column for column in columns if column not in taken]
            name = place.selectbox(
                title,
                [none, *others],
                index=others.index(value) + 1 if value in others else 0,
                help=about,
                key=f"{key} {title} {taken}",
            )
            chosen = None if name == none else name
            taken.append(chosen)
            return chosen

        new_weight = ask(
            left,
            "Exposure: how much a row counts",
            EVERY_ROW_ALIKE,
            weight,
            "For example the years that a policy ran. Every row must have one, above zero.",
        )
        new_prediction = ask(
            middle,
            "Existing prediction or price",
            NO_COLUMN,
            prediction,
            "To be audited beside the models; they never see it.",
        )
        new_row_id = ask(
            right,
            "Row id",
            NO_COLUMN,
            row_id,
            "What names a row, such as a policy's number; the models never see it.",
        )
        others = [column for column in columns if column not in taken]
        chosen = st.multiselect(
            "Features: what the model may see",
            others,
            default=[column for column in features if column in others],
            key=f"{key} features {taken}",
        )
    if new_target is None or new_sensitive is None:
        st.info("Choose the target and the sensitive attribute to go on.")
        return None
    return Roles(
        target=new_target,
        sensitive=(new_sensitive,),
        features=tuple(chosen),
        weight=new_weight,
        prediction=new_prediction,
        row_id=new_row_id,
    )


def show_dataset(dataset: Dataset, source: DatasetSource) -> None:
    said: tuple[str, ...] = ()
    if isinstance(source, UploadSource):
        said = upload_of(source.sha256, source.name, source.reading)[1].sentences()
    st.caption("  \n".join(safe(note) for note in dataset.notes if note not in said))
    facts = facts_of(source)
    for remark in facts.remarks:
        st.warning(safe(remark), icon=":material/warning:")
    if facts.offers:
        with st.expander(f"{counted(len(facts.offers), 'column')} more could be used"):
            show_mends(facts.offers, key=f"{source.id} offers", mend=agree, blocked=False)
    show_link(dataset)
    target, sensitive = dataset.roles.target, dataset.roles.sensitive[0]
    left, right = st.columns(2)
    for place, column, values, role in (
        (left, target, dataset.target, "target"),
        (right, sensitive, dataset.sensitive[sensitive], "sensitive attribute"),
    ):
        with place:
            chart(
                distribution_figure(values.to_numpy(), role=role, label=dataset.label(column), theme=theme()),
                key=f"distribution-{role.split()[0]}",
                alt=f"Histogram of the {role}.",
            )
            if role != "target":
                st.caption(safe(facts.support.sentence()))
    show_proxies(dataset, source)
    st.subheader("The table")
    st.dataframe(dataset.table().head(ROWS_SHOWN), alt=f"The first {ROWS_SHOWN} rows.")
    columns = column_table(dataset, facts.profile)
    with st.expander(f"Every column ({len(columns)})"):
        st.dataframe(
            columns,
            hide_index=True,
            column_config={"distribution": st.column_config.BarChartColumn(y_min=0)},
            alt="Type, missing cells and range by column.",
        )


def data_or_mends(source: DatasetSource) -> Dataset | None:
    """The data set; None if something is in the way, which is then shown with its ways out."""
    try:
        return dataset_of(source)
    except DataError as error:
        show_mends(error.problems, key=f"{source.id} problems", mend=agree, blocked=True)
        return None


def show_link(dataset: Dataset) -> None:
    """The dependence of the target on the sensitive column, in a sentence and a picture."""
    target, sensitive = dataset.roles.target, dataset.roles.sensitive[0]
    link = link_of(dataset)
    told = "depends on" if link.value > link.floor_q95 else "can't be told from independent of"
    sample = f", on {link.n:,} rows at random" if dataset.n_rows > ROWS_MEASURED else ""
    st.markdown(
        f"**{safe(target)} {told} {safe(sensitive)}**: HGR\\_KDE {number(link.value)} where independence "
        f"stays below {number(link.floor_q95)} ({link.floor:.2f} on average{sample})."
    )
    y, s = dataset.target.to_numpy(), dataset.sensitive[sensitive].to_numpy()
    chart(
        link_figure(
            s,
            y,
            group_averages(y, s),
            sensitive=dataset.label(sensitive),
            target=dataset.label(target),
            theme=theme(),
        ),
        key="link",
        alt=f"{target} against {sensitive}: rows as dots, averages of quantile groups as a line.",
    )


def column_table(dataset: Dataset, profile: Sequence[ColumnProfile]) -> pd.DataFrame:
    roles = dataset.roles
    parts = {roles.target: "target"} | dict.fromkeys(roles.sensitive, "sensitive")
    for name, part in (
        (roles.weight, "exposure"),
        (roles.prediction, "existing prediction"),
        (roles.row_id, "row id"),
    ):
        if name is not None:
            parts[name] = part
    return pd.DataFrame(
        [
            {
                "column": each.name,
                "role": parts.get(each.name, "feature"),
                "type": each.kind,
                "unit": dataset.units.get(each.name, ""),
                "missing": each.n_missing,
                "distinct": each.n_distinct,
                "distribution": list(each.histogram),
                "lowest": each.minimum,
                "mean": each.mean,
                "highest": each.maximum,
                "meaning": dataset.meanings.get(each.name, ""),
            }
            for each in profile
        ]
    )


st.title("Which table, and what must not matter?")
source = ask_for_data(current_source())
data = None if source is None else data_or_mends(source)
if source is not None and data is not None:
    choose_source(source)
    st.divider()
    heading, button = st.columns([3, 1], vertical_alignment="center")
    heading.subheader(safe(data.title), anchor=False)
    heading.caption(
        f"{counted(data.n_rows, 'row')} · {counted(len(data.roles.features), 'feature')} · sensitive: "
        f"{safe(data.roles.sensitive[0])} · target: {safe(data.roles.target)}"
        + (f" · exposure: {safe(data.roles.weight)}" if data.roles.weight else "")
    )
    if button.button("Train on this data", type="primary", icon=":material/arrow_forward:", width="stretch"):
        st.session_state.pop("run", None)
        st.switch_page(page("train"), query_params={"dataset": source.id})
    show_dataset(data, source)
