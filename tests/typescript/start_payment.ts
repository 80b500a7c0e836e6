/**
 * Starts a payment workflow from another language, with nothing but its documented JSON.
 *
 * usage: start_payment.ts ADDRESS TASK_QUEUE WORKFLOW_ID JSON [--text] [--wait=SECONDS]
 *
 * Prints one JSON object: {"result": …} when the run completed, {"failure": type, "details": …}
 * when it failed, {"differs": field} when the key was used for another intent, {"waiting": …} when
 * the run goes on after that many seconds (without --wait, 60). With --text the argument is sent
 * as it is, as plain bytes that are not JSON.
 */
import {
  ApplicationFailure,
  Client,
  Connection,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  type WorkflowHandle,
} from "@temporalio/client";

type Intent = Record<string, unknown>;
type Result = { intent: Intent; payment: { payment: string; state: { name: string } } };
type Outcome =
  | { result: Result }
  | { differs: string }
  | { waiting: { details: string; until_ms?: number } }
  | { failure: string | null | undefined; details: unknown[] };

// begin: start
async function start(client: Client, taskQueue: string, workflowId: string, intent: unknown) {
  try {
    return await client.workflow.start("PaymentWorkflow", {
      workflowId, // payment/{merchant}/{key}
      taskQueue,
      args: [intent],
      workflowIdReusePolicy: "ALLOW_DUPLICATE_FAILED_ONLY",
      workflowIdConflictPolicy: "FAIL",
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    // The key has started its payment before. What became of that is the answer now, too.
    return client.workflow.getHandle(workflowId);
  }
}
// end: start

// begin: wait
async function outcome(
  client: Client,
  handle: WorkflowHandle,
  intent: Intent,
  waitMs: number,
): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), waitMs);
  });
  try {
    const result: Result | undefined = await Promise.race([handle.result(), limit]);
    if (result === undefined) {
      // It goes on by itself: nothing has failed, and nothing is to be charged again.
      const ask = () => handle.query<{ details: string; until_ms?: number }>("waiting");
      return { waiting: await client.withDeadline(Date.now() + 10_000, ask) };
    }
    // The result echoes the intent: the key may have been used for another one.
    const differs = Object.keys(intent).find((field) => result.intent[field] !== intent[field]);
    return differs === undefined ? { result } : { differs };
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    if (!(error.cause instanceof ApplicationFailure)) throw error;
    // Refused before anything was recorded: the key is still free.
    return { failure: error.cause.type, details: error.cause.details ?? [] };
  } finally {
    clearTimeout(timer);
  }
}
// end: wait

const [address, taskQueue, workflowId, text, ...options] = process.argv.slice(2);
if (text === undefined) throw new Error("four arguments are needed");
const isText = options.includes("--text");
const argument: unknown = isText ? new TextEncoder().encode(text) : JSON.parse(text);
const wait = options.find((option) => option.startsWith("--wait="));
const waitMs = Number(wait?.slice("--wait=".length) ?? 60) * 1_000;
const connection = await Connection.connect({ address });
const client = new Client({ connection });
const handle = await start(client, taskQueue, workflowId, argument);
const intent = isText ? {} : (argument as Intent);
console.log(JSON.stringify(await outcome(client, handle, intent, waitMs)));
await connection.close();
