"""The functions that drop-ins were compared with: hashes of files and of sources, by client.

`_sources.py` says what a path stands for; ``python -m amqpcodec.compat sources`` prints the hashes
of what is installed, and ``python -m tests.dropins.versions known`` writes this file from the
versions of ``tests/dropins/versions.toml``.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["KNOWN", "Known"]


class Known(NamedTuple):
    """The versions of a client that were compared with its drop-in.

    Args:
        versions: those that were.
        files: module -> hashes of its file in these versions.
        functions: path -> hashes of its source in these versions.
    """

    versions: tuple[str, ...]
    files: dict[str, tuple[str, ...]]
    functions: dict[str, tuple[str, ...]]


#: Client (azure's by distribution) -> what is known of it.
KNOWN: dict[str, Known] = {
    "amqp": Known(
        ("5.1.0", "5.1.1", "5.2.0", "5.3.0", "5.3.1", "5.4.0", "5.4.1", "5.4.2"),
        {
            "amqp.basic_message": ("3357-b47a1e43",),
            "amqp.serialization": (
                "17162-07ee7fc8",
                "17680-07cecc67",
                "17680-807a2ba7",
                "17991-0e547bce",
            ),
            "amqp.method_framing": ("6734-626c8ddc", "7391-a62b106d", "7403-c67a873f"),
            "amqp.transport": (
                "24664-6b547c67",
                "22826-7778e822",
                "22949-295843ff",
                "23046-ae53a00f",
                "23621-aca2e50b",
                "23621-75683b69",
            ),
        },
        {
            "amqp.basic_message": ("80cd182c7c2706b2",),
            "amqp.serialization:loads": (
                "9ddfc2e6bb214d97",
                "e031e4f385e44826",
                "c17cd48c0e30eb42",
            ),
            "amqp.serialization:_read_item": (
                "8a0f4d874c04c17e",
                "2a0c345e3cfccd27",
                "0cb947b0a26b3da3",
                "42bb671a2b8a4b4d",
            ),
            "amqp.serialization:dumps": ("975184adc67e74ae", "7c2eb70de082b1b5"),
            "amqp.serialization:_write_item": ("77a711f6f0e9fcd0",),
            "amqp.serialization:_write_table": ("e038b044d8c7580d",),
            "amqp.serialization:_write_array": ("27e767debdfd47e0",),
            "amqp.serialization:decode_properties_basic": ("9e2cd4a3d830538b",),
            "amqp.serialization:GenericContent._serialize_properties": ("70263fa892c6f62a",),
            "amqp.serialization:GenericContent.inbound_header": ("05c81d7268036c56",),
            "amqp.serialization:GenericContent.inbound_body": ("08fc4d32ec7a36b7",),
            "amqp.serialization:GenericContent._load_properties": ("9060aa9b86ab9cdd",),
            "amqp.method_framing:frame_handler": ("0c0b13d06fdb1dad",),
            "amqp.method_framing:frame_writer": (
                "3d0319addf93e138",
                "46464d059f9bbd33",
                "e35fd0d6c5afaa96",
            ),
            "amqp.transport:_AbstractTransport.read_frame": ("e0a3ccea667ef658",),
            "amqp.transport:TCPTransport._read": ("b4082372d27677c8",),
            "amqp.transport:SSLTransport._read": ("394ebd9adc93817b",),
        },
    ),
    "azure-eventhub": Known(
        ("5.13.0", "5.14.0", "5.15.0", "5.15.1"),
        {
            "azure.eventhub._pyamqp._decode": ("11372-90e1a4eb", "13858-166cfd90"),
            "azure.eventhub._pyamqp._encode": ("40857-9b6673cb", "42392-483eca5d"),
            "azure.eventhub._pyamqp.types": ("2067-ccdc58a4", "2114-f4e7422a"),
            "azure.eventhub._pyamqp.message": ("18636-6917537f",),
            "azure.eventhub._pyamqp.performatives": ("40335-3c81cddb",),
        },
        {
            "azure.eventhub._pyamqp._decode:*": ("4cd969fe004e83da", "0f325a88a8e004cd"),
            "azure.eventhub._pyamqp._encode:*": ("6b82ab0e1b971843", "1caa0d19745a2042"),
            "azure.eventhub._pyamqp.types": ("2ba4ebc5c3e56177", "1cd327f06620f0cf"),
            "azure.eventhub._pyamqp.message": ("355ce48a4177eb75",),
            "azure.eventhub._pyamqp.performatives": ("73879d6fccbe5bb2",),
        },
    ),
    "azure-servicebus": Known(
        ("7.13.0", "7.14.0", "7.14.1", "7.14.2", "7.14.3", "7.15.0"),
        {
            "azure.servicebus._pyamqp._decode": (
                "11372-90e1a4eb",
                "13858-166cfd90",
                "25312-80b4e618",
            ),
            "azure.servicebus._pyamqp._encode": ("40857-9b6673cb", "42392-483eca5d"),
            "azure.servicebus._pyamqp.types": ("2067-ccdc58a4", "2114-f4e7422a"),
            "azure.servicebus._pyamqp.message": ("18636-6917537f",),
            "azure.servicebus._pyamqp.performatives": ("40335-3c81cddb",),
        },
        {
            "azure.servicebus._pyamqp._decode:*": (
                "4cd969fe004e83da",
                "0f325a88a8e004cd",
                "739ff247833087e3",
            ),
            "azure.servicebus._pyamqp._encode:*": ("6b82ab0e1b971843", "1caa0d19745a2042"),
            "azure.servicebus._pyamqp.types": ("2ba4ebc5c3e56177", "1cd327f06620f0cf"),
            "azure.servicebus._pyamqp.message": ("355ce48a4177eb75",),
            "azure.servicebus._pyamqp.performatives": ("73879d6fccbe5bb2",),
        },
    ),
    "pamqp": Known(
        ("3.2.0", "3.2.1", "3.3.0", "4.0.0", "4.0.1"),
        {
            "pamqp.base": ("7287-63360c37", "7518-b286b0f8", "7365-7773778e"),
            "pamqp.body": ("1272-e847d735", "1292-3535da45"),
            "pamqp.commands": ("109387-0ed79588", "109255-c36ba2ce", "109035-4fd8f3f3"),
            "pamqp.common": ("2347-7951f16e", "2329-4678f025"),
            "pamqp.constants": ("1953-063810ac", "1955-a8196276", "1989-5451655d"),
            "pamqp.header": ("4076-c6c69c0a", "4107-5ae77d23", "4276-3e88cf5f"),
            "pamqp.heartbeat": ("608-c0db1fff", "645-1e574cdf"),
            "pamqp.frame": ("6513-1b237a9f", "6512-816dd06c", "6540-a9469077"),
            "pamqp.decode": (
                "13158-6fc24e6b",
                "13158-c31e6f98",
                "13388-67d9c3e9",
                "13679-b3d8fd83",
                "14354-9a531341",
            ),
            "pamqp.encode": ("12958-36d12f3a", "12827-e06da76c", "13566-84047303"),
        },
        {
            "pamqp.base": ("0dbda29950d8a83b", "9d689db5d2185339", "78e4c1cc785ed43b"),
            "pamqp.body": ("87ff81e89ee00cd0", "e34ab17af3cd5ce0"),
            "pamqp.commands": ("28957f68c365afbf", "2d4d14c46e3f2bd2", "a929bb22930dcc04"),
            "pamqp.common": ("431d017a32bc050b", "748ba756ab42d01a"),
            "pamqp.constants": ("601a214463287ee6", "1d56022bed14e30c", "efe9a1740c11528f"),
            "pamqp.header": ("f22c23a5b1a95425", "01a88671c6f28fc2", "582bb36c91a20605"),
            "pamqp.heartbeat": ("6830f31eac81491a", "abda4c9e1bc7e0ac"),
            "pamqp.frame:marshal": ("3460f4700e1cd994", "1e06b3800aa7713e"),
            "pamqp.frame:unmarshal": ("3bdc5b2992122601", "2c41a46f7309aa15"),
            "pamqp.frame:frame_parts": ("04fab3fc4ec269e5", "c5b9a3e2708db48e"),
            "pamqp.frame:_marshal": ("6aa3c6f74027955b", "d322dfc9f6deea8b"),
            "pamqp.frame:_marshal_content_body_frame": ("0046b9658dbbc83b", "1f02d4671db05c12"),
            "pamqp.frame:_marshal_content_header_frame": ("1a90ac404dbce0b2", "c79b00d1d9c2c98d"),
            "pamqp.frame:_marshal_method_frame": ("1ed5d525976b7b7b", "b7311dfba2d6a013"),
            "pamqp.frame:_unmarshal_protocol_header_frame": (
                "0cf387028d6ffc42",
                "a274a11831494d5a",
            ),
            "pamqp.frame:_unmarshal_method_frame": (
                "200c5fffb4abe2db",
                "2b4a9e6b80b0276a",
                "7a68dbab9aa54a51",
            ),
            "pamqp.frame:_unmarshal_header_frame": (
                "a3bb26b895072c7b",
                "f91196f24bb331b6",
                "3a6af61435201f84",
            ),
            "pamqp.frame:_unmarshal_body_frame": ("9087b97e38051fcc",),
            "pamqp.decode:by_type": ("5de31040b19fb4d7", "7b1d7e62565805e5"),
            "pamqp.decode:bit": ("797d3e9b783ee8cc", "b906dbab7e797a71", "33bcf5597fc78aec"),
            "pamqp.decode:boolean": ("04e39a9865d5c77d", "7dc6c82d5c27b921", "0341d365563250aa"),
            "pamqp.decode:byte_array": ("023e7a625ef247a6", "bb8365b43c38a3e7", "270e4231d4a1859c"),
            "pamqp.decode:decimal": ("84e75f2a0f909702", "88b101ad62b887ae", "b452207f2fa5c6d6"),
            "pamqp.decode:double": ("e81a7b1e7068313c", "5028e1061e0faaab", "1536c10279b84e3d"),
            "pamqp.decode:floating_point": (
                "2151724a9f86d484",
                "fed7d88366292bc5",
                "13b0e8f6f7459c9b",
            ),
            "pamqp.decode:long_int": ("4990887620f67412", "37e5ecad296ce75e", "ec9802b2a25d6e3c"),
            "pamqp.decode:long_uint": ("e77eaa4af6ef8c41", "d71d8b1839f1f983", "aed6e7ca43d17edb"),
            "pamqp.decode:long_long_int": (
                "99c98b692d2f77cf",
                "1054cd0aa737d3e1",
                "2156d5c5aed04493",
            ),
            "pamqp.decode:long_str": ("8640d2cfa3ae2279", "051e495a211a3699", "303bacc3929f1325"),
            "pamqp.decode:octet": ("27ef8e1ac2a9c0b8", "7b69c48687ceaa8e", "6489053fc04e79c9"),
            "pamqp.decode:short_int": ("d4db1b73ca38fbce", "dfda6748ea665217", "f616dafe42e23516"),
            "pamqp.decode:short_uint": ("5a589cc3d2e0fd53", "61b084ca300c4247", "b2634f5bfdde80fc"),
            "pamqp.decode:short_short_int": (
                "0890e6f5f5d9ba56",
                "5fb971e7e9e64d3f",
                "2c6b39b2a4742b7f",
            ),
            "pamqp.decode:short_short_uint": (
                "1d9f362e221ffe89",
                "f9808588320e5537",
                "bd57b7edd728d941",
                "eb49e7159c501055",
            ),
            "pamqp.decode:short_str": ("a0500c227c0f0950", "b6f83b211d1fd7ec", "d30e75e337864b8f"),
            "pamqp.decode:timestamp": (
                "ee67c53786c4b8be",
                "f8ba2d7299879a75",
                "c5ca8898888a5f89",
                "a881b7eaacf0fe56",
            ),
            "pamqp.decode:embedded_value": ("13f2a784673c0429", "8882291589e5050a"),
            "pamqp.decode:field_array": (
                "85096b3ee295224f",
                "b9c15a710ad2d113",
                "8ff85065b63a893c",
            ),
            "pamqp.decode:field_table": (
                "183c06894eb158d1",
                "474e31e473c1c588",
                "d8bd3d079416f7f3",
            ),
            "pamqp.decode:void": ("a0d4e22d0243e87f", "fa334931c7877433"),
            "pamqp.encode:support_deprecated_rabbitmq": ("19520fc7b43da22a",),
            "pamqp.encode:by_type": ("ec7bba98d80d1aea", "38012cf215f5d9f2"),
            "pamqp.encode:bit": ("d8376e9ab685e89d",),
            "pamqp.encode:boolean": ("f30d16147f78923d", "a06154073177450a"),
            "pamqp.encode:byte_array": ("e26c16479246ab9e", "86a3cbc3dc107eda"),
            "pamqp.encode:decimal": ("6ad284f0fc3c99e3", "5caaf2131164c569", "7667b50a9ee316a7"),
            "pamqp.encode:double": ("aa0a85b9c42ef6e5", "acd9802f3abca08a"),
            "pamqp.encode:floating_point": ("a2e1305e09884000", "e427f990fd38d1c8"),
            "pamqp.encode:long_int": ("ff693a05840c8629", "4ef72d4023561091"),
            "pamqp.encode:long_uint": ("fc2be07f3944d0cc", "75c02967b509bae5"),
            "pamqp.encode:long_long_int": ("73bac36ab779fba5", "45e21274f3363d5a"),
            "pamqp.encode:long_string": ("f9b8e2d514f07d03",),
            "pamqp.encode:octet": ("576532f0e524bf39", "b741942bbac445b8"),
            "pamqp.encode:short_int": ("d79a6f10f69fc1a7", "ec14680689b18039", "96cf668d138ef107"),
            "pamqp.encode:short_uint": ("24caf962b598c72c", "6d8d2edc351a02e7"),
            "pamqp.encode:short_string": ("a4b02f6d1391c487", "75aa0426f984e570"),
            "pamqp.encode:timestamp": ("fc53b20c63b1884d", "7b9e2ece18c6b8a9"),
            "pamqp.encode:field_array": ("7912d83a593b4e37", "f428da52c702cc05"),
            "pamqp.encode:field_table": (
                "48cb403058d12bf7",
                "4cd5acf41759c1f2",
                "032132a5eb1ce6d7",
            ),
            "pamqp.encode:table_integer": ("57a56a8e6bf80082", "5cc2f7963662083d"),
            "pamqp.encode:_deprecated_table_integer": ("ccf42c3c4ee21897", "0dcfb9bf7017a624"),
            "pamqp.encode:_string": ("f9e1b150a30d8570", "5f5cf99a71e6f032", "31938b0b309360e4"),
            "pamqp.encode:encode_table_value": ("b643fd94932f3391", "8897f36861e68a3d"),
        },
    ),
    "pika": Known(
        ("1.2.0", "1.2.1", "1.3.0", "1.3.1", "1.3.2", "1.4.0", "1.4.1", "1.4.2", "1.4.4"),
        {
            "pika.amqp_object": ("1830-61c1d4a2", "2552-57e7d1a6"),
            "pika.frame": ("7744-7fb563bb", "8252-5b693bc9"),
            "pika.spec": (
                "78397-e2095549",
                "78564-cd2277ab",
                "80449-5e792532",
                "80448-7098cb16",
                "79956-31733c0b",
            ),
            "pika.data": ("9746-3c325690", "9956-6915fad6", "9236-9c36d555"),
            "pika.connection": (
                "86450-fb7c1a85",
                "87626-107de607",
                "87633-6e2a70af",
                "87627-bf6d73f1",
                "95903-94183bf3",
            ),
        },
        {
            "pika.amqp_object": ("ae4e303856a6cc5e", "a40814aad62c22ca"),
            "pika.frame": ("011e864f12e0bbec", "dd0998eef4c5c427"),
            "pika.spec": (
                "b1d73f0d418ee252",
                "0cdf998160033839",
                "147d8b43ce2b70de",
                "dee1a4be5cf72b33",
            ),
            "pika.data:decode_short_string": ("4d677c028faeb8c8", "b454c0200f2b8f7f"),
            "pika.data:decode_table": ("0b173e634283ef07", "127b108997a2ed80"),
            "pika.data:decode_value": ("bb8ab64eb298d473", "3aa3db14d963b735"),
            "pika.data:encode_short_string": ("35154db3f67bb6a8", "1fd0a471f5c4e0c6"),
            "pika.data:encode_table": ("10fec66da7244de5", "9af8b7b61825f11c"),
            "pika.data:encode_value": ("8183c9cd7684fec5", "7712716e21443d1f", "779471ff952c3eca"),
            "pika.connection:Connection._on_data_available": (
                "b27451f9f270b3b2",
                "59ed34e4795dc2a6",
            ),
            "pika.connection:Connection._read_frame": ("b629790d04727ad9", "b42427aa31e1dbf6"),
            "pika.connection:Connection._trim_frame_buffer": (
                "334233ff8c7d71b4",
                "934d8a316152b1bb",
            ),
            "pika.connection:Connection._send_message": ("3d39b7366a7d7f5e", "c7bd28d5d67d1bf4"),
        },
    ),
    "rstream": Known(
        ("0.40.0", "0.40.1", "1.0.0", "1.0.1", "1.1.0", "1.1.1"),
        {
            "rstream._pyamqp._decode": ("11276-edfc305f",),
            "rstream._pyamqp._encode": ("41143-9fcc9106",),
            "rstream._pyamqp.types": ("2081-1c877dcb",),
            "rstream._pyamqp.message": ("18652-528853e7",),
            "rstream._pyamqp.performatives": ("40447-e2d89d10",),
        },
        {
            "rstream._pyamqp._decode:*": ("f50163181e5e5033",),
            "rstream._pyamqp._encode:*": ("5f6a3f612a212390",),
            "rstream._pyamqp.types": ("3f2b2395a6d9e4c8",),
            "rstream._pyamqp.message": ("93ce47ad85162f9c",),
            "rstream._pyamqp.performatives": ("cc68c196e610e528",),
        },
    ),
}
