"""Starts a payment workflow from another language, with nothing but its documented JSON.

usage: start_payment.py ADDRESS TASK_QUEUE WORKFLOW_ID JSON [--text]

Prints one JSON object: {"result": …} when the run completed, {"failure": type, "details": …} when
it failed. With --text the argument is sent as it is, as plain bytes that are not JSON.
"""

import asyncio
import json
import sys

from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError


async def main() -> None:
    address, task_queue, workflow_id, argument = sys.argv[1:5]
    argument = argument.encode() if "--text" in sys.argv else json.loads(argument)
    client = await Client.connect(address)
    handle = await client.start_workflow(
        "PaymentWorkflow", argument, id=workflow_id, task_queue=task_queue
    )
    try:
        print(json.dumps({"result": await handle.result()}))
    except WorkflowFailureError as error:
        cause = error.cause
        assert isinstance(cause, ApplicationError), cause
        print(json.dumps({"failure": cause.type, "details": list(cause.details)}))


asyncio.run(main())
