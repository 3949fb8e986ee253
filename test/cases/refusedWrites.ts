import type { EnforcementPoint } from '../../src/core/refusals.ts'
import { BY_CLOSED_KINDS } from './refusedWrites/byClosedKinds.ts'
import { BY_POLICIES } from './refusedWrites/byPolicies.ts'
import { BY_SERVER } from './refusedWrites/byServer.ts'
import type { RefusedWrite } from './refusedWrites/write.ts'

export type { RefusalWorld, RestRequest } from './refusedWrites/write.ts'

/** What a write of the list is for; undefined for gates that other tests cover. */
export function gateKey(code: string, gate: EnforcementPoint): string | undefined {
  if (gate.by === 'policy') return `${gate.name} ${gate.kind}`
  return gate.by === 'server' || gate.by === 'schema' || gate.by === 'authorizer' ? code : undefined
}

export const REFUSED_WRITES: Readonly<Record<string, RefusedWrite>> = {
  ...BY_SERVER,
  ...BY_POLICIES,
  ...BY_CLOSED_KINDS,
}
