"""``from_amqp``, ``schema_of_amqp`` and ``to_amqp`` in SQL.

A Python function that is registered has one type. from_json's depends on its arguments, since the
analyzer asks a builder for it; here the builder is Python's, called back through Py4J.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column

from ..planning.versions import DATA_SOURCES, arrow_udf, of_ddl
from .encoding import to_amqp_udf
from .frames import check_binary
from .structs import from_amqp_udf, schema_of_amqp, schema_of_amqp_udf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType

__all__ = ["register_builders"]


def register_builders(spark: SparkSession, functions: Mapping[str, str | DataType]) -> bool:
    """Make ``from_amqp(col[, schema[, options]])`` and ``schema_of_amqp(col[, options])`` known.

    Before Spark 4.1, where a function is an expression of several, also ``to_amqp(struct)`` and
    ``functions``, the names of which stand for from_amqp with a schema.

    False: the analyzer is out of reach, as it is for a client of Spark Connect, and for programs on
    clusters that let Python call few classes of the JVM.
    """
    if not hasattr(spark, "_jsparkSession"):
        return False
    from py4j.protocol import Py4JError
    from pyspark import java_gateway

    gateway: Any = spark.sparkContext._gateway
    start: Any = java_gateway.ensure_callback_server_started
    try:
        start(gateway)
        registry = spark._jsparkSession.sessionState().functionRegistry()
        builds = list(_FUNCTIONS)
        if arrow_udf is None:
            builds.append(("to_amqp", 1, _to_amqp))
            builds += [(name, 1, _of_schema(schema)) for name, schema in functions.items()]
        for name, most, build in builds:
            builder = _Builder(name, most, build, gateway.jvm)
            registry.createOrReplaceTempFunction(name, builder, "python_udf")
    except Py4JError:
        return False
    return True


class _Builder:
    """What the analyzer asks, with expressions of the JVM, for the expression of a call."""

    def __init__(self, name: str, most: int, build: Callable[..., Any], jvm: Any) -> None:
        """most: arguments that it takes. build: takes a reader of constants, and the arguments."""
        self.name = name
        self.most = most
        self.build = build
        self.constants = _Constants(name, jvm)

    def apply(self, children: Any) -> Any:
        """children: a Seq of the arguments, which are resolved."""
        try:
            return self._built(children)
        except Exception as problem:  # the JVM shows it, and needs no traceback
            raise problem.with_traceback(None) from None

    def _built(self, children: Any) -> Any:
        if not 1 <= children.size() <= self.most:
            raise ValueError(f"{self.name} takes 1 to {self.most} arguments, not {children.size()}")
        arguments = [children.apply(number) for number in range(1, children.size())]
        return self.build(self.constants, children.take(1), *arguments)

    class Java:
        """What it is to the JVM."""

        implements = ("scala.Function1",)


def _check_binary(col: Any) -> None:
    first = col.head()
    check_binary(of_ddl(first.dataType().sql()), first.sql())


def _from_amqp(constants: _Constants, col: Any, schema: Any = None, options: Any = None) -> Any:
    _check_binary(col)
    text = None if schema is None else constants.value(schema)
    if schema is not None and not isinstance(text, str):
        raise ValueError(f"the schema of from_amqp is text, not {text!r}")
    return constants.call(from_amqp_udf(text, options and constants.map(options)), col)


def _of_schema(schema: str | DataType) -> Callable[..., Any]:
    function = from_amqp_udf(schema)

    def build(constants: _Constants, col: Any) -> Any:
        _check_binary(col)
        return constants.call(function, col)

    return build


def _to_amqp(constants: _Constants, struct: Any) -> Any:
    return constants.call(to_amqp_udf(), struct)


def _schema_of_amqp(constants: _Constants, col: Any, options: Any = None) -> Any:
    _check_binary(col)
    option_values = options and constants.map(options)
    if col.head().foldable():
        value = constants.value(col.head())
        if isinstance(value, bytes):
            return constants.literal(vars(schema_of_amqp(value, option_values))["_amqp_schema"])
    return constants.call(schema_of_amqp_udf(option_values), col)


#: Name in SQL, how many arguments it takes, and what makes the expression.
_FUNCTIONS: tuple[tuple[str, int, Callable[..., Any]], ...] = (
    ("from_amqp", 3, _from_amqp),
    ("schema_of_amqp", 2, _schema_of_amqp),
)


class _Constants:
    """Reads arguments that must be the same for all rows, and makes expressions."""

    def __init__(self, name: str, jvm: Any) -> None:
        self.name = name
        self.sql = jvm.org.apache.spark.sql
        self.expressions = jvm.org.apache.spark.sql.catalyst.expressions
        self.string = jvm.org.apache.spark.sql.types.DataTypes.StringType

    def value(self, expression: Any) -> Any:
        """Text, bytes, or whatever else it is."""
        if not expression.foldable():
            raise ValueError(
                f"{expression.sql()} is not the same for all rows: the type of {self.name} is "
                "fixed before a job starts"
            )
        result = expression.eval(None)
        return result if isinstance(result, bytes) or result is None else str(result.toString())

    def map(self, expression: Any) -> Mapping[str, str]:
        """``map('mode', 'FAILFAST')`` as a dict."""
        pairs = self.expressions.ExprUtils.convertToMapData(expression).iterator()
        entries = {}
        while pairs.hasNext():
            pair = pairs.next()
            entries[str(pair._1())] = str(pair._2())
        return entries

    def call(self, function: Any, arguments: Any) -> Any:
        """The expression of a function of an expression."""
        if arrow_udf is not None:
            return function._unwrapped._judf.builder(arguments)
        argument = arguments.head()
        name = f"{self.name}({argument.sql()})"
        if DATA_SOURCES:  # 4.0: columns are nodes, and expressions are made of them
            column = self.sql.classic.ExpressionUtils.column(argument)
            node = function(Column(column)).alias(name)._jc.node()
            converter = getattr(self.sql.classic, "ColumnNodeToExpressionConverter$")
            return getattr(converter, "MODULE$").apply(node)
        return function(Column(self.sql.Column(argument))).alias(name)._jc.expr()

    def literal(self, text: str) -> Any:
        """A text as an expression."""
        return self.expressions.Literal.create(text, self.string)
