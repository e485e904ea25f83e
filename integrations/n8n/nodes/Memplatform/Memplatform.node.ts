import type {
  IDataObject,
  IExecuteFunctions,
  IHttpRequestOptions,
  INodeExecutionData,
  INodeType,
  INodeTypeDescription,
  JsonObject,
} from "n8n-workflow";
import { NodeApiError } from "n8n-workflow";
import { FIELDS } from "./fields";

/** Milliseconds that a bot's answer waits for memory. */
const WAIT = 5_000;
const MOST_CHARACTERS = 8_000;

/** What an operation asks, and what it gives where nothing is answered. */
interface Asked {
  path: string;
  body: IDataObject;
  headers?: IDataObject;
  read: (answer: IDataObject) => IDataObject;
  otherwise: IDataObject;
}

/** Memory before a bot's answer, and after it. */
export class Memplatform implements INodeType {
  description: INodeTypeDescription = {
    displayName: "Memplatform",
    name: "memplatform",
    icon: "file:memplatform.svg",
    group: ["transform"],
    version: 1,
    subtitle: '={{ $parameter["operation"] }}',
    description: "Long-term memory for chat bots",
    defaults: { name: "Memplatform" },
    inputs: ["main"],
    outputs: ["main"],
    usableAsTool: true,
    credentials: [{ name: "memplatformApi", required: true }],
    properties: FIELDS,
  };

  async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
    const items = this.getInputData();
    const { url } = await this.getCredentials<{ url: string }>("memplatformApi");
    const results: INodeExecutionData[] = [];
    let isLogged = false;
    for (let index = 0; index < items.length; index++) {
      const asked = askedFor(this, index);
      let told = asked.otherwise;
      try {
        const request: IHttpRequestOptions = {
          method: "POST",
          url: `${url.replace(/\/+$/, "")}/api/v1/${asked.path}`,
          headers: asked.headers,
          body: asked.body,
          json: true,
          timeout: WAIT,
        };
        told = asked.read(await this.helpers.httpRequestWithAuthentication.call(this, "memplatformApi", request));
      } catch (error) {
        const why = new NodeApiError(this.getNode(), error as JsonObject, { itemIndex: index });
        if (this.getNodeParameter("options.stopOnError", index, false)) throw why;
        if (!isLogged) this.logger.warn(`memplatform: ${asked.path} is not answered: ${why.message}`);
        isLogged = true;
        told = { ...asked.otherwise, memoryError: why.message };
      }
      results.push({ json: { ...items[index]?.json, ...told }, pairedItem: { item: index } });
    }
    return [results];
  }
}

/** The call that an operation stands for, with the fields of an item. */
function askedFor(node: IExecuteFunctions, index: number): Asked {
  const field = (name: string): string => String(node.getNodeParameter(name, index, "") ?? "");
  const address = addressOf(field);
  switch (field("operation")) {
    case "recall":
      return {
        path: "context",
        body: { address, message: field("message").slice(0, MOST_CHARACTERS), client_history: [] }, // n8n keeps the chat
        read: (answer) => ({ memory: answer.text, recallId: answer.recall_id }),
        otherwise: { memory: "", recallId: null },
      };
    case "remember":
      return {
        path: "turns",
        body: {
          address,
          user: field("message"),
          assistant: field("answer"),
          ...(field("recallId") ? { recall_id: field("recallId") } : {}),
        },
        headers: onceOnly(node, index),
        read: () => ({ isRemembered: true }),
        otherwise: { isRemembered: false },
      };
    case "search":
      return {
        path: "recall",
        body: { address, message: field("words").slice(0, MOST_CHARACTERS), limit: 8, need: "off", quotas: false },
        read: (answer) => ({ memories: (answer.memories as IDataObject[]).map(({ content }) => content as string) }),
        otherwise: { memories: [] },
      };
    default:
      return {
        path: "entries",
        body: { address, content: field("sentence").slice(0, MOST_CHARACTERS) },
        headers: onceOnly(node, index),
        read: (answer) => ({ memoryId: answer.id }),
        otherwise: { memoryId: null },
      };
  }
}

/** Where a message comes from. The same chat of another person is another chat. */
function addressOf(field: (name: string) => string): IDataObject {
  const [person, chat] = [field("person"), field("chat")];
  const account = field("options.account");
  return {
    platform: field("options.platform") || "web",
    peer: person,
    ...(chat ? { chat: `${person}/${chat}` } : {}),
    ...(account ? { account } : {}),
  };
}

/** A node that n8n tries again does its thing once; in a loop, or as a tool, each run of it does its own. */
function onceOnly(node: IExecuteFunctions, index: number): IDataObject {
  const execution = node.getExecutionId();
  const run = node.getWorkflowDataProxy(index).$runIndex as number;
  const key = `n8n-${node.getWorkflow().id}-${execution}-${node.getNode().id}-${run}-${index}`;
  return execution ? { "Idempotency-Key": key.slice(-200) } : {};
}
