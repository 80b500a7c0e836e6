"""Starts a payment workflow from another language, with nothing but its documented JSON.

usage: start_payment.py ADDRESS TASK_QUEUE WORKFLOW_ID JSON [--text] [--wait=SECONDS]

Prints one JSON object: {"result": …} when the run completed, {"failure": type, "details": …} when
it failed, {"differs": field} when the key was used for another intent, {"waiting": …} when the run
goes on after that many seconds (without --wait, 60). With --text the argument is sent as it is, as
plain bytes that are not JSON.
"""

import argparse
import asyncio
import json
from datetime import timedelta

from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError


# begin: start
async def start(client: Client, task_queue: str, workflow_id: str, intent) -> WorkflowHandle:
    try:
        return await client.start_workflow(
            "PaymentWorkflow",
            intent,
            id=workflow_id,  # payment/{merchant}/{key}
            task_queue=task_queue,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
            id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
        )
    except WorkflowAlreadyStartedError:
        # The key has started its payment before. What became of that is the answer now, too.
        return client.get_workflow_handle(workflow_id)
# end: start


# begin: wait
async def outcome(handle: WorkflowHandle, intent, wait_s: float) -> dict:
    try:
        result = await asyncio.wait_for(handle.result(), wait_s)
    except asyncio.TimeoutError:
        # It goes on by itself: nothing has failed, and nothing is to be charged again.
        return {"waiting": await handle.query("waiting", rpc_timeout=timedelta(seconds=10))}
    except WorkflowFailureError as error:
        if not isinstance(error.cause, ApplicationError):
            raise
        # Refused before anything was recorded: the key is still free.
        return {"failure": error.cause.type, "details": list(error.cause.details)}
    # The result echoes the intent: the key may have been used for another one.
    for field in intent:
        if result["intent"].get(field) != intent[field]:
            return {"differs": field}
    return {"result": result}
# end: wait


async def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ["address", "task_queue", "workflow_id", "json"]:
        parser.add_argument(name)
    parser.add_argument("--text", action="store_true")
    parser.add_argument("--wait", type=float, default=60)
    asked = parser.parse_args()
    argument = asked.json.encode() if asked.text else json.loads(asked.json)
    client = await Client.connect(asked.address)
    handle = await start(client, asked.task_queue, asked.workflow_id, argument)
    print(json.dumps(await outcome(handle, argument, asked.wait)))


asyncio.run(main())
