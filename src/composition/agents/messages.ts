import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { readWithin } from '../../core/readWithin.ts'
import { tryParseJson } from '../../core/tryParseJson.ts'

const BODY_MAX_BYTES = 16 * 1024

const Body = z.object({ token: z.string().max(256).optional(), request: z.string().min(1).max(8192) })
export type JoinRequest = z.output<typeof Body>

/** Why an agent was refused, in words for its administrator. */
export class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'Refusal'
    this.status = status
  }
}

/** @throws Refusal unless the body is a short JSON object with a certificate request */
export async function readJoinRequest(request: IncomingMessage): Promise<JoinRequest> {
  // Keeps the connection open, to send the refusal on it.
  const bytes = request.iterator({ destroyOnReturn: false })
  const body = await readWithin(BODY_MAX_BYTES, bytes, () => new Refusal(400, 'The request is too long.'))
  const parsed = Body.safeParse(tryParseJson(body.toString('utf8')))
  if (!parsed.success) throw new Refusal(400, 'The request lacks a certificate request.')
  return parsed.data
}

export function sendJson(response: ServerResponse, status: number, body: object): void {
  if (response.headersSent) return
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  response.end(JSON.stringify(body))
}
