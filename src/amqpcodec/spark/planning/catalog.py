"""Options of tables in a catalog (``CREATE TABLE ... USING amqp_capture``), which Spark forgets.

Spark tells a Python source a table's options when the table is made, and the columns alone when it
is read. So they are kept with the first column, as metadata; secrets are not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from pyspark.sql.types import StructField, StructType

from .options import Options, option_key

__all__ = ["NO_PATH", "is_secret", "recall", "remember", "with_sql_options"]

#: The name of the metadata.
KEY = "amqp_capture.options"

NO_PATH = (
    "a path is missing: load(path), or OPTIONS (path '...'). Of a table that was made with columns "
    "of its own Spark gives this source no option: make it without them (OPTIONS (path '...', "
    "fields 'channel,method')), or say WITH (`path` = '...') after its name"
)


def with_sql_options(options: Options) -> Options:
    """What stands in OPTIONS, where a table is made; its other properties are the user's own."""
    if "provider" not in options:
        return options
    values = options.items()
    option_names = {name for name in values if f"option.{name}" in values} | {"path", "paths"}
    return Options({name: text for name, text in values.items() if name in option_names})


def is_secret(name: str) -> bool:
    """Whether an option may hold what nobody should read in a catalog."""
    return name.startswith("fs.") or name == "keylog"


def remember(schema: StructType, options: Options, names: Iterable[str]) -> StructType:
    """The schema of a table that is being made, with the options of these names; else as it is."""
    if "provider" not in options:
        return schema
    option_keys = {option_key(name) for name in names}
    table_options = {
        name: text
        for name, text in options.items().items()
        if name in option_keys and not is_secret(name)
    }
    first, *other_fields = schema.fields
    first_field = StructField(
        first.name, first.dataType, first.nullable, {KEY: json.dumps(table_options)}
    )
    return StructType([first_field, *other_fields])


def recall(options: Options, schema: StructType) -> Options:
    """The options of a read: those given, and those that the table was made with."""
    for field in schema.fields[:1]:
        options_json = (field.metadata or {}).get(KEY)
        if options_json is not None and "path" not in options and "paths" not in options:
            return Options({**json.loads(options_json), **options.items()})
    return options
