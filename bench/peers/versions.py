"""amqpcodec in its other versions, and with a specification loaded at run time.

Their bytes of the workloads are those of 0-9-1, so the same module that drives 0-9-1 drives them,
once for each, with another protocol in it; its checks are made for each, too.
"""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from bench.work import Absent, Peer

REPO = Path(__file__).resolve().parents[2]


def peer(name: str, protocol: ModuleType) -> type[Peer]:
    """use_amqpcodec's peer with this protocol, under this name."""
    path = Path(__file__).with_name("use_amqpcodec.py")
    spec = importlib.util.spec_from_file_location(f"{__name__}.{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.amqp = protocol
    module._present = _present

    class Version(module.Amqpcodec):  # type: ignore[misc, name-defined]
        pass

    Version.name = name
    return Version


def _present(properties: Any) -> dict[str, Any]:
    values = {name: getattr(properties, name) for name in properties.FIELDS}
    return {name: value for name, value in values.items() if value is not None}


def loaded() -> ModuleType:
    """0-9-1 from its XML."""
    import amqpcodec

    try:
        return amqpcodec.load_xml_spec(str(REPO / "spec" / "amqp0-9-1.xml"))
    except ImportError as error:
        raise Absent(str(error)) from error
