"""The two fixtures of aiormq's suite that its sdist does not bring: the broker of DOCKER_HOST."""

import pytest


@pytest.fixture(scope="session")
def rabbitmq_container():
    """A broker, started by the suite's own client of Docker."""
    from tests.docker_client import DockerClient

    client = DockerClient()
    container = client.run("rabbitmq", ["5672/tcp", "5671/tcp"])
    yield container
    client.kill(container.id)
    client.remove(container.id)


@pytest.fixture(scope="session")
def amqp_direct_url(rabbitmq_container):
    """Where it listens without TLS."""
    from yarl import URL

    return URL.build(
        scheme="amqp",
        user="guest",
        password="guest",
        host=rabbitmq_container.host,
        port=rabbitmq_container.ports["5672/tcp"],
        path="//",
    )
