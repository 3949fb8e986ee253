import type { RegistryPort } from '../../adapters/registry/port.ts'
import { dockerConfig, pullSecretContent } from '../../contracts/dockerConfig.ts'
import { PLATFORM_ACTOR, PULL_SECRET } from '../../contracts/registry/names.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { groupNamespace, sha256 } from '../../core/names.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { ResourceGroup } from '../../crds/resourcegroups.ts'
import { secret } from '../../kube/builtin.ts'
import type { Pass } from '../engine/controller.ts'

/** Milliseconds of a credential's life, and after how many of them its successor takes its place. */
const LIFE = 86_400_000
const TURN = LIFE / 3

type GroupPass = Pass<typeof ResourceGroup>

/** Keeps the Secret that nodes pull a group's images with in its namespace. */
export const keepPullSecret = (port: Pick<RegistryPort, 'host' | 'keys'> | undefined) =>
  async function keepPullSecretCurrent(pass: GroupPass): Promise<Outcome> {
    const { boundaryId } = pass.place
    if (port === undefined || boundaryId === undefined) return done()
    const { name } = pass.object.metadata
    return done({ after: await ensurePullSecret(pass, port, { boundaryId, name, incarnation: pass.incarnation }) })
  }

/**
 * Writes it where the children of the pass are: those of other groups of the boundary take a
 * credential that somebody was given. Its password changes when
 * its time comes, at a moment of each group's own; with the registry's authority; and with a boundary or a group that
 * was made anew. What is written follows from these alone: whoever writes it again, or on another cluster, writes the same.
 *
 * @returns milliseconds until its time comes
 */
export async function ensurePullSecret(
  { records, clock, children }: Pick<Pass, 'records' | 'clock' | 'children'>,
  port: Pick<RegistryPort, 'host' | 'keys'>,
  group: { boundaryId: string; name: string; incarnation: string },
): Promise<number> {
  const { boundaryId, name, incarnation } = group
  const namespace = groupNamespace(boundaryId, name)
  const { from, left } = turnOf(namespace, clock.now())
  const boundary = records.cache(Boundary).get(undefined, boundaryId)
  const lives = {
    [boundaryId]: boundary?.metadata.annotations?.[INCARNATION_ANNOTATION] ?? '',
    [`${boundaryId}/${name}`]: incarnation,
  }
  const limit = { repositories: `${boundaryId}/${name}/*`, actions: ['pull'] }
  const whose = { principalId: PLATFORM_ACTOR, principalType: 'Platform' } as const
  const password = await port.keys.issue({ kind: 'Boundary', ...whose, limit, lives, expiresAt: from + LIFE })
  const config = dockerConfig({ [port.host]: { username: `boundary-${boundaryId}`, password } })
  const metadata = { name: PULL_SECRET, namespace }
  const desired = { apiVersion: 'v1', kind: 'Secret', metadata, ...pullSecretContent(config) }
  await children.ensure(desired, { resource: secret })
  return left
}

/** When the turn began that is now, and how long it lasts yet: not the same moment for all, which would be a rush. */
function turnOf(namespace: string, now: number): { from: number; left: number } {
  const shift = Number.parseInt(sha256(namespace).slice(0, 8), 16) % TURN
  const from = Math.floor((now - shift) / TURN) * TURN + shift
  return { from, left: from + TURN - now }
}
