import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { checkSpec } from '../../src/api/records/specs.ts'
import { TARGET_SECRETS } from '../../src/contracts/platformbackups/names.ts'
import { PlatformError, refusedFields } from '../../src/core/errors.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { KINDS } from '../../src/crds/index.ts'
import { BoundaryTrust } from '../../src/crds/rbac.ts'
import { type StructuralSchema, structuralSchema } from '../../src/crds/structural.ts'
import { LENDABLE, NOT_LENDABLE } from '../../src/iam/lendable.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { RULE_CASES } from '../cases/ruleCases.ts'
import { TEST_CONFIG } from '../config.ts'
import { fittingName } from '../make/samples.ts'
import { triedValues } from '../make/wrongValues.ts'
import { makeBoundary, makeGroup } from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'

const AT_ONCE = 8

type Spec = Record<string, unknown>
type Path = readonly (string | number)[]
type Trial = { path: Path; value: unknown; schema: StructuralSchema }

/** Parts of specs that no case of a rule contains. */
const SAMPLES: Readonly<Record<string, unknown>> = {
  lifecycleRules: [{ id: 'old' }],
  corsRules: [{ origins: ['*'], methods: ['GET'] }],
  restoreFrom: { clusterName: 'orders', snapshotId: randomUUID() },
  target: { bucket: 'backups', endpoint: 'https://store.example.com', secretName: TARGET_SECRETS[0] },
  suspendedArchives: [{ namespace: 'shop', name: 'orders' }],
}

/** Requests to existing objects: in a new object, the API server refuses them with this message. */
const ASKED_LATER: Readonly<Record<string, string>> = {
  'RolloutExecution.requests.resumeAt': 'only a paused rollout can be resumed',
  'RolloutExecution.requests.revertDriftAt': 'the rollout is not paused because of manual changes',
  'RolloutExecution.requests.rollbackAt': 'the rollout cannot be rolled back',
}

const at = (target: unknown, path: Path): unknown =>
  path.reduce<unknown>((part, name) => (part as Spec | undefined)?.[name as string], target)

function withAt(target: unknown, [name, ...rest]: Path, value: unknown): unknown {
  if (name === undefined) return value
  const copy: Spec = structuredClone((target ?? {}) as Spec)
  copy[name as string] = withAt(copy[name as string], rest, value)
  return copy
}

/** All places of a schema whose parent is in a spec, with the values to try there. */
function trialsOf(schema: StructuralSchema, spec: unknown, path: Path): Trial[] {
  const own = path.length === 0 ? [] : triedValues(schema).map((value) => ({ path, value, schema }))
  const inside = Object.entries((schema.properties ?? {}) as Record<string, StructuralSchema>).flatMap(([name, part]) =>
    trialsOf(part, at(spec, [name]), [...path, name]),
  )
  const isListOfRecords = schema.items !== undefined && (schema.items as StructuralSchema).properties !== undefined
  if (isListOfRecords && (!Array.isArray(spec) || spec.length === 0)) return own
  if (path.length > 0 && spec === undefined) return own
  const items =
    schema.items === undefined ? [] : trialsOf(schema.items as StructuralSchema, at(spec, [0]), [...path, 0])
  const values = schema.additionalProperties as StructuralSchema | undefined
  const entries = values === undefined ? [] : trialsOf(values, undefined, [...path, 'key'])
  return [...own, ...inside, ...items, ...entries]
}

/** What REST would write, or why it refuses. Only the roles know what a trust may contain, so its route checks it. */
function byRest(kind: AnyKind, spec: Spec): { spec: object } | { refusal: PlatformError } {
  try {
    const checked = checkSpec(kind, spec, undefined)
    const { actions = [] } = (kind === BoundaryTrust ? checked : {}) as { actions?: string[] }
    const wrong = actions.findIndex((name) => !LENDABLE.has(name))
    if (wrong >= 0) return { refusal: refusedFields([{ field: `actions.${wrong}`, message: NOT_LENDABLE }]) }
    return { spec: checked }
  } catch (error) {
    if (error instanceof PlatformError) return { refusal: error }
    throw error
  }
}

/**
 * In a sample it is asked neither about a spec again, nor about a value that it has refused for the same reason
 * elsewhere.
 */
const IS_ASKED_AGAIN = TEST_CONFIG.sized(0, 1) === 1

/**
 * The reason for which the API server refuses a value: a different type, otherwise the schema; descriptions do not
 * matter.
 */
const reasonOf = ({ schema, value }: Trial): string => {
  const isText = (name: string, part: unknown) => name === 'description' && typeof part === 'string'
  const { type, format } = schema
  const decisive = isOfOtherType(schema, value) ? { type, format } : schema
  return `${JSON.stringify(decisive, (name, part) => (isText(name, part) ? undefined : part))} ${JSON.stringify(value)}`
}

/** For null, more than the type matters: if there is a default, the API server uses that. */
function isOfOtherType({ type, ...others }: StructuralSchema, value: unknown): boolean {
  if (type === undefined || others['x-kubernetes-int-or-string'] === true || value === null) return false
  if (type === 'integer' || type === 'number') return typeof value !== 'number'
  return type !== (Array.isArray(value) ? 'array' : typeof value)
}

/** A library's own words, or a regular expression. */
const INSIDES = /Invalid|expected (string|number|one)|Unrecognized|Too (big|small)|[\^$]\/?|\\[xdsw]|\(\?|\[a-z/

describe('verdicts of REST and of the API server on every field', () => {
  let admin: KubeClient
  /** The API server's refusals so far. */
  const refused = new Set<string>()
  /** The specs that it has admitted so far, after their kind. */
  const admitted = new Set<string>()
  let homes: Record<AnyKind['placement'], string | undefined>

  before(async () => {
    admin = await administrator()
    const { id } = await makeBoundary()
    const group = (await makeGroup(id)).name
    const boundary = boundaryNamespace(id)
    homes = {
      cluster: undefined,
      platform: SYSTEM_NAMESPACE,
      boundary,
      boundaryOrPlatform: boundary,
      group: groupNamespace(id, group),
    }
  })
  after(() => admin.close())

  /** Undefined if it is admitted. */
  async function byServer(kind: AnyKind, spec: unknown): Promise<string | undefined> {
    const name = fittingName(kind, spec as object | undefined)
    const namespace = homes[kind.placement]
    const metadata = namespace === undefined ? { name } : { name, namespace }
    try {
      await admin.create(
        kind.resource,
        { apiVersion: kind.apiVersion, kind: kind.kind, metadata, spec },
        { dryRun: true },
      )
      return undefined
    } catch (error) {
      // Only admitted specs are read back: of some kinds the platform already has an object.
      if (isKubeError(error, 'AlreadyExists')) return undefined
      if (!isKubeError(error)) throw error
      return [error.message, ...error.causes.map(({ message }) => message), error.denial?.message ?? ''].join('; ')
    }
  }

  /** What is wrong where REST would write the spec. */
  async function deviationsOfWritten(kind: AnyKind, spec: object, later: string | undefined): Promise<string[]> {
    const asked = `${kind.kind} ${JSON.stringify(spec)}`
    const refusal = admitted.has(asked) && !IS_ASKED_AGAIN ? undefined : await byServer(kind, spec)
    if (refusal === undefined) admitted.add(asked)
    if (later === undefined)
      return refusal === undefined ? [] : [`REST would write it, the API server refuses: ${refusal}`]
    return refusal?.includes(later) ? [] : [`in a new object it is not refused as it should be: ${refusal}`]
  }

  /** How the two differ over a value, and messages of REST that are not fit for people. */
  async function deviationsOf(kind: AnyKind, base: Spec, trial: Trial): Promise<string[]> {
    const { path, value } = trial
    const tried = withAt(base, path, value) as Spec
    const where = `${kind.kind}.${path.join('.')} = ${JSON.stringify(value)?.slice(0, 60)}`
    const rest = byRest(kind, tried)
    if ('spec' in rest) {
      const later = value === null ? undefined : ASKED_LATER[`${kind.kind}.${path.join('.')}`]
      return (await deviationsOfWritten(kind, rest.spec, later)).map((deviation) => `${where}: ${deviation}`)
    }
    const { message, extras } = rest.refusal
    const reasons = [message, ...((extras.errors ?? []) as { message: string }[]).map((error) => error.message)]
    const inner = reasons.filter((reason) => INSIDES.test(reason)).map((reason) => `${where}: is told "${reason}"`)
    const reason = reasonOf(trial)
    if (refused.has(reason) && !IS_ASKED_AGAIN) return inner
    const isRefused = (await byServer(kind, tried)) !== undefined
    if (isRefused) refused.add(reason)
    return isRefused ? inner : [...inner, `${where}: the API server admits it, REST refuses: ${message}`]
  }

  for (const kind of KINDS) {
    it(`are the same for every tried value of ${kind.kind}`, async () => {
      const { next = {} } = RULE_CASES.find(({ kind: of, refused }) => of === kind && refused.length === 0) ?? {}
      const samples = Object.entries(SAMPLES).filter(([name]) => Object.hasOwn(kind.spec.shape, name))
      const base = { ...next, ...Object.fromEntries(samples) } as Spec
      expect(await byServer(kind, base), 'the valid spec in which values are tried').to.equal(undefined)
      const trials = trialsOf(structuralSchema(kind.spec, kind.kind), base, [])
      const found: string[] = []
      const waiting = [...trials]
      const work = async () => {
        for (let trial = waiting.shift(); trial !== undefined; trial = waiting.shift())
          found.push(...(await deviationsOf(kind, base, trial)))
      }
      await Promise.all(Array.from({ length: AT_ONCE }, work))
      expect(found, `${found.length} of ${trials.length}`).to.deep.equal([])
    })
  }
})
