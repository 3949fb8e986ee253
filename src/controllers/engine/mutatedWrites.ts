import { createHash } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'
import { type KubeObject, objectKey } from '../../core/object.ts'
import { canonicalJson, firstMismatchedField } from '../../kube/apply.ts'

/** Milliseconds until an object that the API server stored differently is written again. */
export const REWRITE_DELAY_MS = 600_000

type MutatedWrite = { wantedHash: string; path: string; writtenAt: number }

/**
 * Children that the API server stored differently than they were written: an admission webhook changed a field, or an
 * older CRD lacks it. Each write may wake the owner, so rewriting at once would loop for ever.
 */
export class MutatedWrites {
  readonly #clock: Clock
  readonly #byKey = new Map<string, Map<string, MutatedWrite>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Number of owners with such a child. */
  get size(): number {
    return this.#byKey.size
  }

  /** @returns a message about a child that was just written; undefined if it is stored as written */
  written(key: string, wanted: KubeObject, stored: KubeObject): string | undefined {
    const id = idOf(wanted)
    const path = firstMismatchedField(wanted, stored)
    if (path === undefined) {
      this.#forgetWrite(key, id)
      return undefined
    }
    const writes = this.#byKey.get(key) ?? new Map<string, MutatedWrite>()
    this.#byKey.set(key, writes.set(id, { wantedHash: hashOf(wanted), path, writtenAt: this.#clock.monotonic() }))
    return describeMutation(id, path)
  }

  /** @returns the same message if rewriting the child now would not help; undefined if it should be written */
  skipReason(key: string, wanted: KubeObject, observed: KubeObject | undefined): string | undefined {
    const id = idOf(wanted)
    const known = this.#byKey.get(key)?.get(id)
    if (known === undefined) return undefined
    const isOld = this.#clock.monotonic() - known.writtenAt >= REWRITE_DELAY_MS
    const isSame = observed !== undefined && !isOld && hashOf(wanted) === known.wantedHash
    if (isSame && firstMismatchedField(wanted, observed) === known.path) return describeMutation(id, known.path)
    this.#forgetWrite(key, id)
    return undefined
  }

  forget(key: string): void {
    this.#byKey.delete(key)
  }

  #forgetWrite(key: string, id: string): void {
    const writes = this.#byKey.get(key)
    writes?.delete(id)
    if (writes?.size === 0) this.#byKey.delete(key)
  }
}

function idOf({ kind, metadata }: KubeObject): string {
  return `${kind} "${objectKey(metadata.namespace, metadata.name)}"`
}

/** A hash, because the object may contain Secret values, which must not be kept. */
function hashOf(wanted: KubeObject): string {
  return createHash('sha256').update(canonicalJson(wanted)).digest('base64')
}

function describeMutation(id: string, path: string): string {
  return `${id} is stored differently from what was written, first in ${path}. Whatever changes it (an admission webhook, an older type) must leave it alone.`
}
