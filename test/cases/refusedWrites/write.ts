import type { ErrorCode } from '../../../src/core/errors.ts'
import { boundaryNamespace, groupNamespace } from '../../../src/core/names.ts'
import type { KubeObject } from '../../../src/core/object.ts'
import type { AnyKind } from '../../../src/crds/define.ts'
import type { KubeClient } from '../../../src/kube/client.ts'

/** A request to REST. */
export type RestRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  body?: unknown
  headers?: Record<string, string>
  /** Whose token it has; by default that of the platform's first Owner. */
  by?: 'owner' | 'contributor' | 'nobody' | 'stranger'
}
type RestAnswer = { status: number; body: { id?: string; code?: string; module?: string; items?: { id: string }[] } }

/** Callers from two boundaries, and a group of one of them. */
export type RefusalWorld = {
  boundaryId: string
  group: string
  admin: KubeClient
  /** Owner of the boundary. */
  owner: KubeClient
  /** May write everything in the group, but read no credentials in it. */
  contributor: KubeClient
  /** Has no role. */
  nobody: KubeClient
  /** An invalid token. */
  stranger: KubeClient
  /** Has every Kubernetes verb on the kinds of access control, but no role of ours. */
  clerk: KubeClient
  rest: (request: RestRequest) => Promise<RestAnswer>
  until: <T>(what: string, look: () => Promise<T>) => Promise<NonNullable<T>>
}

/** The attempt, once everything that it needs exists. */
type Attempt = {
  write: () => Promise<unknown>
  rest: Partial<Record<ErrorCode, RestRequest>>
  release: () => Promise<unknown>
}

export type RefusedWrite = {
  prepare: (world: RefusalWorld) => Promise<Attempt>
  status: number
  /** Part of the message, if it is ours. */
  says: string
  /** The codes of the same refusals by REST. */
  codes: readonly ErrorCode[]
  /** Codes of the same gate that another test provokes by REST, or that no route returns for such a write, and why. */
  elsewhere: Partial<Record<ErrorCode, string>>
}

type Declared<Given> = {
  /** Creates the object of the write. */
  prepare?: (world: RefusalWorld) => Promise<Given>
  write: (world: RefusalWorld, given: Given) => Promise<unknown>
  status: number
  says?: string
  /** The same by REST, for each of its codes. */
  rest: Partial<Record<ErrorCode, (world: RefusalWorld, given: Given) => RestRequest>>
  elsewhere?: Partial<Record<ErrorCode, string>>
  /** Removes what other users of the platform would see. */
  release?: (world: RefusalWorld, given: Given) => Promise<unknown>
}

export function refused<Given>({
  prepare,
  write,
  rest,
  status,
  says = '',
  elsewhere = {},
  release,
}: Declared<Given>): RefusedWrite {
  const requests = Object.entries(rest) as [ErrorCode, (world: RefusalWorld, given: Given) => RestRequest][]
  return {
    ...{ status, says, elsewhere },
    codes: requests.map(([code]) => code),
    prepare: async (world) => {
      const given = (await prepare?.(world)) as Given
      return {
        write: () => write(world, given),
        rest: Object.fromEntries(requests.map(([code, request]) => [code, request(world, given)])),
        release: async () => release?.(world, given),
      }
    },
  }
}

export const dryRun = { dryRun: true }
export const home = ({ boundaryId }: RefusalWorld) => boundaryNamespace(boundaryId)
export const space = ({ boundaryId, group }: RefusalWorld) => groupNamespace(boundaryId, group)
export const boundaryPath = ({ boundaryId }: RefusalWorld) => `/boundaries/${boundaryId}`
export const groupPath = (world: RefusalWorld) => `${boundaryPath(world)}/resourcegroups/${world.group}`
/** The path of a resource of the group, or of a part of one. */
export const resourcePath = (world: RefusalWorld, ...parts: string[]) =>
  [groupPath(world), 'resources', ...parts].join('/')

export const named = (
  kind: AnyKind,
  namespace: string | undefined,
  name: string,
  spec: object,
  metadata: object = {},
): KubeObject =>
  ({
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), ...metadata },
    spec,
  }) as KubeObject

export async function statusOf(
  { admin }: RefusalWorld,
  kind: AnyKind,
  namespace: string | undefined,
  name: string,
): Promise<Record<string, unknown>> {
  const { status } = await admin.get<KubeObject & { status?: Record<string, unknown> }>(kind.resource, {
    namespace,
    name,
  })
  return status ?? {}
}

/** Waits until the object reports what holds it. */
export function untilHeld(world: RefusalWorld, kind: AnyKind, namespace: string | undefined, name: string) {
  const isHeld = async () => ((await statusOf(world, kind, namespace, name)).heldBy as string[] | undefined)?.length
  return world.until(`${name} is held`, isHeld)
}
