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
            "amqp.basic_message": ("43c0d5df5b6eba98",),
            "amqp.serialization": (
                "c73cd79a6438e5f1",
                "a16f5e99bc64e3b9",
                "ae54888e6ed0bf74",
                "da839005d8e96f9b",
            ),
            "amqp.method_framing": ("6af9f0f745fdb78f", "2ae060f510d3d395", "7593d5cb81bd4f74"),
            "amqp.transport": (
                "4ea65d17c870f291",
                "33289805eac1a803",
                "5057f029fa27ef38",
                "b46e74afec9b7971",
                "2d092b2bf999e3e3",
                "6850712b852ef0fd",
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
            "azure.eventhub._pyamqp._decode": ("4e9944cd0ba8f470", "e0e27b5c8c90663c"),
            "azure.eventhub._pyamqp._encode": ("466331e5d2f67230", "ecc9c483505a281e"),
            "azure.eventhub._pyamqp.types": ("33dac5d5be1b729b", "04c2deb3c54bb75a"),
            "azure.eventhub._pyamqp.message": ("aba22e0ae84908b8",),
            "azure.eventhub._pyamqp.performatives": ("da1d2a8d6cd605b8",),
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
                "4e9944cd0ba8f470",
                "e0e27b5c8c90663c",
                "040f44d5a96c8f80",
            ),
            "azure.servicebus._pyamqp._encode": ("466331e5d2f67230", "ecc9c483505a281e"),
            "azure.servicebus._pyamqp.types": ("33dac5d5be1b729b", "04c2deb3c54bb75a"),
            "azure.servicebus._pyamqp.message": ("aba22e0ae84908b8",),
            "azure.servicebus._pyamqp.performatives": ("da1d2a8d6cd605b8",),
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
            "pamqp.base": ("3d74cd20d4bbe2ae", "a0d6235bb790454d", "e70ab476b2ea47fc"),
            "pamqp.body": ("86869a5aa1109f4d", "fdf2db12d6022645"),
            "pamqp.commands": ("33b87630507324f1", "bf89bbae414620a1", "1d464a6dd982d9ce"),
            "pamqp.common": ("1127ccf0892155d7", "4baf6fc84ec3b988"),
            "pamqp.constants": ("e8a1c7aa0b44106c", "6a2f5ea879a286c2", "22256095888bff31"),
            "pamqp.header": ("31c3d802d528acbd", "e6600e41215a85fc", "395d05f216de04d8"),
            "pamqp.heartbeat": ("1d4b9d7d96dea9c8", "f57082c51e936039"),
            "pamqp.frame": ("c292b26a7396db5f", "5e7d2dbebb3ad0fd", "f064e1f70aeef806"),
            "pamqp.decode": (
                "5876e64e9416152f",
                "78002926ee13e904",
                "2ee2c9cdfe5011d2",
                "58031112eb7e29e1",
                "a6d7bbbed4cb37f4",
            ),
            "pamqp.encode": ("b747aa6ba5a23248", "16b371d26bb53e00", "eda2df1f006b13c4"),
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
            "pika.amqp_object": ("fbbbb62c23f2f834", "39bdabca821c9f96"),
            "pika.frame": ("d088582d6bc4791b", "7e4b1d8f34ed85bc"),
            "pika.spec": (
                "28a66d08bafdce69",
                "f3729ee4c37021c1",
                "9b0a926b6441bc84",
                "da940b3b88453aed",
                "b6ccfc8784b7c57f",
            ),
            "pika.data": ("0cdb790993ba968c", "4b1602ba89689628", "8e81059008f55b05"),
            "pika.connection": (
                "3232fe792d100d82",
                "499e9a6f080c28a4",
                "bcfb2037a9064bfe",
                "d782f5abebb525cd",
                "9652039f80caec1a",
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
            "rstream._pyamqp._decode": ("223f67a438ec8c31",),
            "rstream._pyamqp._encode": ("685a1e5afc14384c",),
            "rstream._pyamqp.types": ("d72a4e7afc9d75ed",),
            "rstream._pyamqp.message": ("b9e1e4f2e6fa600d",),
            "rstream._pyamqp.performatives": ("167232c09df8842c",),
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
