"""What the compiled encoder of columns offers to the facade."""

from typing import Any, final

from ._codec import Protocol
from ._v1 import V1Core

class ArrowColumn:
    """One column in Arrow's C Data Interface; nothing of the input is borrowed.

    pyarrow.array(column), polars.Series(column) and the like take it without a copy. Its memory is
    shared by all who took it, and goes back to the pool when the last of them lets go of it.
    """

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object:
        """The Arrow type in a PyCapsule."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """The Arrow type and array in two PyCapsules; as often as one likes.

        requested_schema is not followed: there is one type.
        """

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A stream of this one array, in a PyCapsule, for those who take nothing else."""

    def to_numpy(self) -> Any:
        """An array of NumPy, of objects: None where there is no value. It needs pyarrow."""

@final
class Encoded(ArrowColumn):
    """Messages as bytes: a binary column in Arrow's C Data Interface, one value a row.

    A row that could not be encoded is null here, and its error is in ``errors``. Nothing of the
    input is borrowed; memory is shared by all who took it, and goes back to the pool at the end.
    """

    @property
    def error_count(self) -> int:
        """How many rows could not be encoded."""

    def to_numpy(self, column: str = "messages") -> Any:
        """ "messages" as an array of bytes, or "errors" as one of text; None where there is none.

        It needs pyarrow. Raises KeyError for any other name.
        """

    @property
    def errors(self) -> ArrowColumn:
        """Why a row could not be encoded: a utf8 column of as many rows, null where all is well."""

def encode_columns(
    protocol: Protocol | V1Core,
    columns: object,
    frame_max: int,
    mode: str,
    dialect: str | None,
    limit: int = ...,
) -> Encoded:
    """See amqpcodec.batch.encode. limit: bytes that the array may have (tests lower it)."""
