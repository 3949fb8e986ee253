import type { RegistryPort } from '../../adapters/registry/port.ts'
import { dockerConfig, pullSecretContent } from '../../contracts/dockerConfig.ts'
import { PLATFORM_ACTOR, PULL_SECRET } from '../../contracts/registry/names.ts'
import { DAY_MS } from '../../core/clock.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { groupNamespace, sha256 } from '../../core/names.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { ResourceGroup } from '../../crds/resourcegroups.ts'
import { secret } from '../../kube/builtin.ts'
import type { Pass } from '../engine/controller.ts'

/** Lifetime of a credential in milliseconds, and after how long its successor replaces it. */
const TOKEN_TTL_MS = DAY_MS
const ROTATION_INTERVAL_MS = TOKEN_TTL_MS / 3

type GroupPass = Pass<typeof ResourceGroup>

/** Keeps the Secret with which nodes pull a group's images, in the group's namespace. */
export const keepPullSecret = (port: Pick<RegistryPort, 'host' | 'keys'> | undefined) =>
  async function keepPullSecretCurrent(pass: GroupPass): Promise<Outcome> {
    const { boundaryId } = pass.scope
    if (port === undefined || boundaryId === undefined) return done()
    const { name } = pass.object.metadata
    return done({ after: await ensurePullSecret(pass, port, { boundaryId, name, incarnation: pass.incarnation }) })
  }

/**
 * Writes the pull Secret where the pass has its children. It covers only the group's own images; images of other groups
 * need a credential that a user was given. The password changes when its turn is over (at a different time for each
 * group), with the registry's signing key, and with the incarnation of boundary or group. It depends on nothing else,
 * so a rewrite, or a write on another cluster, yields the same Secret.
 *
 * @returns milliseconds until its turn is over
 */
export async function ensurePullSecret(
  { records, clock, children }: Pick<Pass, 'records' | 'clock' | 'children'>,
  port: Pick<RegistryPort, 'host' | 'keys'>,
  group: { boundaryId: string; name: string; incarnation: string },
): Promise<number> {
  const { boundaryId, name, incarnation } = group
  const namespace = groupNamespace(boundaryId, name)
  const { startedAt, remainingMs } = rotationPeriodOf(namespace, clock.now())
  const boundary = records.cache(Boundary).get(undefined, boundaryId)
  const incarnations = {
    [boundaryId]: boundary?.metadata.annotations?.[INCARNATION_ANNOTATION] ?? '',
    [`${boundaryId}/${name}`]: incarnation,
  }
  const limit = { repositories: `${boundaryId}/${name}/*`, actions: ['pull'] }
  const owner = { principalId: PLATFORM_ACTOR, principalType: 'Platform' } as const
  const password = await port.keys.issue({
    kind: 'Boundary',
    ...owner,
    limit,
    lives: incarnations,
    expiresAt: startedAt + TOKEN_TTL_MS,
  })
  const config = dockerConfig({ [port.host]: { username: `boundary-${boundaryId}`, password } })
  const metadata = { name: PULL_SECRET, namespace }
  const desired = { apiVersion: 'v1', kind: 'Secret', metadata, ...pullSecretContent(config) }
  await children.ensure(desired, { resource: secret })
  return remainingMs
}

/** Returns when the current turn began and how long it lasts. Turns are shifted per group, to spread the writes. */
function rotationPeriodOf(namespace: string, now: number): { startedAt: number; remainingMs: number } {
  const shift = Number.parseInt(sha256(namespace).slice(0, 8), 16) % ROTATION_INTERVAL_MS
  const startedAt = Math.floor((now - shift) / ROTATION_INTERVAL_MS) * ROTATION_INTERVAL_MS + shift
  return { startedAt, remainingMs: startedAt + ROTATION_INTERVAL_MS - now }
}
