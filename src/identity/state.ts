import { MANAGED_BY, MANAGED_BY_LABEL, PREFIX } from '../core/labels.ts'
import { SYSTEM_NAMESPACE, sha256 } from '../core/names.ts'
import { type SecretObject, secretData, secretText } from '../core/secretData.ts'
import { compareTexts } from '../core/textOrder.ts'
import * as builtin from '../kube/builtin.ts'
import type { KubeClient } from '../kube/client.ts'
import { absent, isKubeError } from '../kube/errors.ts'
import type { KubeObject } from '../kube/object.ts'

/** A stored model of oidc-provider, without its id: ids are bearer secrets and are never stored. */
export type StateEntry = Record<string, unknown> & { exp?: number; consumed?: number }

/** A Secret with one sign-in, grant or pending device code. `expiresAt` in seconds since the epoch. */
export type StateRecord = {
  name: string
  entries: Record<string, StateEntry>
  expiresAt: number
  /** A secondary key, short enough for a label value. */
  index?: string
  /** The owner, once known. */
  userId?: string
}

/** Stores sign-ins, shared by all replicas. Every method throws if the store does not answer. */
export interface StateStore {
  read(name: string): Promise<StateRecord | undefined>
  findByIndex(index: string): Promise<StateRecord | undefined>
  /** Overwrites unconditionally. */
  write(record: StateRecord): Promise<void>
  /**
   * Changes the stored record without overwriting concurrent changes: `change` is called again after a conflict.
   * Returns false if there is no record.
   */
  change(name: string, change: (record: StateRecord) => StateRecord): Promise<boolean>
  remove(name: string): Promise<void>
  /** Removes and returns the record: of concurrent calls, only one gets it. */
  take(name: string): Promise<StateRecord | undefined>
  /** Returns the browser sessions and grants of a user. */
  listOf(userId: string): Promise<readonly StateRecord[]>
  /** Ends all sign-ins and grants of a user, except one grant, given by its `sid`, and the sign-in it came from. */
  removeOf(userId: string, keepSession?: string): Promise<void>
  /** Ends the oldest sign-ins and grants of a user, until there are `most`. */
  limitOf(userId: string, most: number): Promise<void>
  /** Removes what expired before `now` (seconds); returns when the next one expires. */
  sweep(now: number): Promise<number | undefined>
}

export const STATE_LABELS = { 'app.kubernetes.io/component': 'identity-state' }
export const STATE_USER_LABEL = `${PREFIX}user`
const INDEX_LABEL = `${PREFIX}identity-index`
const EXPIRES_ANNOTATION = `${PREFIX}expires-at`
const ENTRY = 'state.json'
const MAX_RACES = 10

/** Ids are bearer secrets but names are not, so a name contains only a hash of the id. */
export function stateName(model: string, id: string): string {
  return `identity-${model.toLowerCase()}-${digest(id)}`
}

export function digest(id: string): string {
  return sha256(id).slice(0, 40)
}

/** @param onWrite is told the expiry of every written record, so that it is removed then */
export function secretStateStore(
  client: Pick<KubeClient, 'get' | 'list' | 'apply' | 'update' | 'remove'>,
  onWrite: (expiresAt: number) => void = () => {},
): StateStore {
  const get = (name: string) => client.get<SecretObject>(builtin.secret, refOf(name)).catch(absent)
  const list = async (labels: Record<string, string>) => {
    const labelSelector = Object.entries({ ...STATE_LABELS, ...labels })
      .map(([key, value]) => `${key}=${value}`)
      .join(',')
    return (await client.list<SecretObject>(builtin.secret, { namespace: SYSTEM_NAMESPACE, labelSelector })).items
  }
  const drop = (name: string) => client.remove(builtin.secret, refOf(name))
  return {
    async read(name) {
      const found = await get(name)
      return found && recordOf(found)
    },
    async findByIndex(index) {
      const [found] = await list({ [INDEX_LABEL]: index })
      return found && recordOf(found)
    },
    async write(record) {
      await client.apply(builtin.secret, objectOf(record), { force: true })
      onWrite(record.expiresAt)
    },
    async change(name, change) {
      for (let attempt = 0; attempt < MAX_RACES; attempt += 1) {
        const found = await get(name)
        if (found === undefined) return false
        const next = change(recordOf(found))
        try {
          await client.update(builtin.secret, objectOf(next, found.metadata.resourceVersion))
          onWrite(next.expiresAt)
          return true
        } catch (error) {
          if (!isKubeError(error, 'Conflict', 'NotFound')) throw error
        }
      }
      throw new Error(`The stored sign-in ${name} changed ${MAX_RACES} times while it was written.`)
    },
    async remove(name) {
      await drop(name)
    },
    async take(name) {
      const found = await get(name)
      if (found === undefined) return undefined
      try {
        await client.remove(builtin.secret, refOf(name), { uid: found.metadata.uid, mustExist: true })
        return recordOf(found)
      } catch (error) {
        if (isKubeError(error, 'Conflict', 'NotFound')) return undefined
        throw error
      }
    },
    listOf: async (userId) => (await list({ [STATE_USER_LABEL]: userId })).map(recordOf),
    async removeOf(userId, keepSession) {
      for (const found of await list({ [STATE_USER_LABEL]: userId })) {
        if (keepSession === undefined || !belongsTo(recordOf(found), keepSession)) await drop(found.metadata.name)
      }
    },
    async limitOf(userId, most) {
      const found = await list({ [STATE_USER_LABEL]: userId })
      if (found.length <= most) return
      const oldestFirst = found.sort((one, other) => compareTexts(createdAtOf(one), createdAtOf(other)))
      for (const { metadata } of oldestFirst.slice(0, found.length - most)) await drop(metadata.name)
    },
    async sweep(now) {
      let next: number | undefined
      for (const { metadata } of await list({})) {
        const expiresAt = secondsOf(metadata.annotations?.[EXPIRES_ANNOTATION])
        if (expiresAt > now) next = Math.min(next ?? expiresAt, expiresAt)
        else await removeUnchanged(metadata)
      }
      return next
    },
  }

  /** A record that was renewed in the meantime stays. */
  async function removeUnchanged({ name, resourceVersion }: KubeObject['metadata']): Promise<void> {
    try {
      await client.remove(builtin.secret, refOf(name), resourceVersion === undefined ? {} : { resourceVersion })
    } catch (error) {
      if (!isKubeError(error, 'Conflict')) throw error
    }
  }
}

const createdAtOf = ({ metadata }: SecretObject) => metadata.creationTimestamp ?? ''
const refOf = (name: string) => ({ namespace: SYSTEM_NAMESPACE, name })

function objectOf(record: StateRecord, resourceVersion?: string): SecretObject {
  const { name, entries, expiresAt, index, userId } = record
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      ...refOf(name),
      labels: {
        [MANAGED_BY_LABEL]: MANAGED_BY,
        ...STATE_LABELS,
        ...(index === undefined ? {} : { [INDEX_LABEL]: index }),
        ...(userId === undefined ? {} : { [STATE_USER_LABEL]: userId }),
      },
      annotations: { [EXPIRES_ANNOTATION]: new Date(expiresAt * 1000).toISOString() },
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    type: 'Opaque',
    data: secretData({ [ENTRY]: JSON.stringify(entries) }),
  }
}

/** Returns the `sid` in the tokens of a grant: a hash of its id. */
export function sessionIdOf(grantId: string): string {
  return digest(grantId)
}

/** Whether the record is the grant with that `sid`, or the browser sign-in from which that grant came. */
function belongsTo({ name, entries }: StateRecord, sessionId: string): boolean {
  return name === `identity-grant-${sessionId}` || grantsOf(entries.value).some((id) => sessionIdOf(id) === sessionId)
}

/** Returns the grants of a browser session, one for each program. */
export function grantsOf(session: object | undefined): string[] {
  const { authorizations = {} } = (session ?? {}) as { authorizations?: Record<string, { grantId?: unknown }> }
  return Object.values(authorizations).flatMap(({ grantId }) => (typeof grantId === 'string' ? [grantId] : []))
}

/** @throws Error for a Secret that is not ours; the message does not quote it */
function recordOf({ metadata, data }: SecretObject): StateRecord {
  const index = metadata.labels?.[INDEX_LABEL]
  const userId = metadata.labels?.[STATE_USER_LABEL]
  return {
    name: metadata.name,
    entries: entriesOf(metadata.name, secretText(data, ENTRY) ?? ''),
    expiresAt: secondsOf(metadata.annotations?.[EXPIRES_ANNOTATION]),
    ...(index === undefined ? {} : { index }),
    ...(userId === undefined ? {} : { userId }),
  }
}

function entriesOf(name: string, text: string): Record<string, StateEntry> {
  try {
    return JSON.parse(text) as Record<string, StateEntry>
  } catch {
    throw new Error(`The stored sign-in ${name} is not readable.`) // The parser's message would quote the content.
  }
}

/** An unreadable expiry counts as expired. */
function secondsOf(text: string | undefined): number {
  const time = Date.parse(text ?? '')
  return Number.isNaN(time) ? 0 : Math.floor(time / 1000)
}
