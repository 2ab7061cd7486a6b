"""A client that honours Retry-After is served after one wait. Argument: the URL.

Prints how often it tried again, and the answer.
"""

import sys

import urllib3

retry = urllib3.Retry(total=3, status_forcelist=[429])
answer = urllib3.PoolManager(retries=retry).request("GET", sys.argv[1])
print(len(answer.retries.history), answer.data.decode())
