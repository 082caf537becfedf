"""Ready wrappers for toolkits that read named resources: SQL databases and files."""

from toolgate_langchain.hosts.toolkits.files import FileResources
from toolgate_langchain.hosts.toolkits.sql import SqlResources

__all__ = ["FileResources", "SqlResources"]
