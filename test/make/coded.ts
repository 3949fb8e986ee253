import { expect } from 'chai'
import { call } from '../worlds/platform.ts'

export type Coded = { code: string; module: string; actions?: string[]; scope?: string; id?: string }

/** A call that must have this status and code; returns its body. */
export async function coded(
  wanted: [number, string],
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
  token?: string,
): Promise<Coded> {
  const answer = await call<Coded>(method, path, body, token === undefined ? {} : { token })
  expect([answer.status, answer.body?.code], `${method} ${path}: ${answer.text}`).to.deep.equal(wanted)
  return answer.body
}
