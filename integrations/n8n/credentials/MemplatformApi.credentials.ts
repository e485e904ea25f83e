import type { IAuthenticateGeneric, ICredentialTestRequest, ICredentialType, INodeProperties } from "n8n-workflow";

/** Where the platform is, and the bot's key. */
export class MemplatformApi implements ICredentialType {
  name = "memplatformApi";
  displayName = "Memplatform API";
  icon = "file:../nodes/Memplatform/memplatform.svg" as const;

  properties: INodeProperties[] = [
    {
      displayName: "URL",
      name: "url",
      type: "string",
      default: "http://127.0.0.1:8000",
      description: "The platform as n8n reaches it, without a path",
      required: true,
    },
    {
      displayName: "Key",
      name: "key",
      type: "string",
      typeOptions: { password: true },
      default: "",
      description: "The key of your bot, from the platform's page of the bot",
      required: true,
    },
  ];

  authenticate: IAuthenticateGeneric = {
    type: "generic",
    properties: { headers: { Authorization: "=Bearer {{$credentials.key}}" } },
  };

  test: ICredentialTestRequest = { request: { baseURL: "={{$credentials.url}}", url: "/api/v1/tools" } };
}
