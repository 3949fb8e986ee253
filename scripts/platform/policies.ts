import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { messageOf } from '../../src/core/errors.ts'
import { BOUNDARY_LABEL, GROUP_LABEL } from '../../src/core/labels.ts'
import type { KubeObject } from '../../src/core/object.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { BoundaryProjection } from '../../src/crds/projections.ts'
import { namespace } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'

/** The API server looks for missing parameter types every 30 seconds. */
const EVALUATED_TIMEOUT_MS = 120_000
const POLL_INTERVAL_MS = 500

type PolicyProbe = { readonly kind: AnyKind; readonly name: string; readonly spec: object }

const id = randomUUID()
/** An object of each kind that a policy evaluates together with another kind's, valid in all other respects. */
export const ASKED: readonly PolicyProbe[] = [{ kind: BoundaryProjection, name: id, spec: { clusterId: id } }]

/**
 * Waits until policies with parameters work: after its start, an API server refuses the affected requests until it has
 * found the types of the parameters. Each policy is tested with a dry run in a namespace where its kind is allowed;
 * without such a namespace, nobody can be refused.
 *
 * @throws Error with the last answer if that does not happen in time
 */
export async function untilPoliciesJudge(
  client: Pick<KubeClient, 'list' | 'create'>,
  signal: AbortSignal,
): Promise<void> {
  const { items } = await client.list(namespace, { labelSelector: BOUNDARY_LABEL })
  const staying = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  await Promise.all(
    ASKED.map((probe) => {
      const home = staying.find(({ metadata: { labels } }) => isHomeOf(probe.kind, labels))
      return home && waitUntilEvaluated(client, { probe, home, signal })
    }),
  )
}

const isHomeOf = ({ placement }: AnyKind, labels: KubeObject['metadata']['labels']) =>
  (placement === 'group') === (labels?.[GROUP_LABEL] !== undefined)

async function waitUntilEvaluated(
  client: Pick<KubeClient, 'create'>,
  { probe: { kind, name, spec }, home, signal }: { probe: PolicyProbe; home: KubeObject; signal: AbortSignal },
): Promise<void> {
  const { apiVersion, resource } = kind
  const metadata = { namespace: home.metadata.name, name }
  let last = ''
  for (
    const deadline = performance.now() + EVALUATED_TIMEOUT_MS;
    performance.now() < deadline;
    await delay(POLL_INTERVAL_MS)
  ) {
    signal.throwIfAborted()
    try {
      await client.create(resource, { apiVersion, kind: kind.kind, metadata, spec } as KubeObject, { dryRun: true })
      return
    } catch (error) {
      // Any other refusal shows that the policy was evaluated.
      if (!isKubeError(error, 'Unavailable')) return
      last = messageOf(error)
    }
  }
  throw new Error(
    `The policies did not judge a ${kind.kind} within ${EVALUATED_TIMEOUT_MS / 1000} s; the last answer was: ${last}.`,
  )
}
