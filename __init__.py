"""infranoise: how much of an agentic coding eval's score is infrastructure?"""

__version__ = "0.1.0"
