import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { messageOf } from '../../src/core/errors.ts'
import { BOUNDARY_LABEL, GROUP_LABEL } from '../../src/core/labels.ts'
import type { KubeObject } from '../../src/core/object.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { ServerlessFunction } from '../../src/crds/functions.ts'
import { BoundaryProjection } from '../../src/crds/projections.ts'
import { namespace } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'

/** The API server looks for the types of parameters again every 30 seconds. */
const WITHIN = 120_000
const ASK_EVERY = 500

type Asked = { readonly kind: AnyKind; readonly name: string; readonly spec: object }

const id = randomUUID()
/** An object of each kind that a policy judges beside those of another one, as everything else lets it pass. */
export const ASKED: readonly Asked[] = [
  { kind: BoundaryProjection, name: id, spec: { clusterId: id } },
  {
    kind: ServerlessFunction,
    name: 'asked.asked',
    spec: { namespaceName: 'asked', functionName: 'asked', handler: 'index' },
  },
]

/**
 * Waits until policies with parameters judge: an API server that has begun to serve refuses what they are about until it
 * has found the types of these. Each is asked in a namespace where its kind may stand, about an object of which nothing is
 * stored; where there is no such namespace yet, nobody can be refused.
 *
 * @throws Error with the last answer if it does not come to that
 */
export async function untilPoliciesJudge(
  client: Pick<KubeClient, 'list' | 'create'>,
  signal: AbortSignal,
): Promise<void> {
  const { items } = await client.list(namespace, { labelSelector: BOUNDARY_LABEL })
  const staying = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  await Promise.all(
    ASKED.map((asked) => {
      const home = staying.find(({ metadata: { labels } }) => isHomeOf(asked.kind, labels))
      return home && untilJudged(client, { asked, home, signal })
    }),
  )
}

const isHomeOf = ({ placement }: AnyKind, labels: KubeObject['metadata']['labels']) =>
  (placement === 'group') === (labels?.[GROUP_LABEL] !== undefined)

async function untilJudged(
  client: Pick<KubeClient, 'create'>,
  { asked: { kind, name, spec }, home, signal }: { asked: Asked; home: KubeObject; signal: AbortSignal },
): Promise<void> {
  const { apiVersion, resource } = kind
  const metadata = { namespace: home.metadata.name, name }
  let last = ''
  for (const deadline = performance.now() + WITHIN; performance.now() < deadline; await delay(ASK_EVERY)) {
    signal.throwIfAborted()
    try {
      await client.create(resource, { apiVersion, kind: kind.kind, metadata, spec } as KubeObject, { dryRun: true })
      return
    } catch (error) {
      // Any other refusal is one of who has judged.
      if (!isKubeError(error, 'Unavailable')) return
      last = messageOf(error)
    }
  }
  throw new Error(`The policies did not judge a ${kind.kind} within ${WITHIN / 1000} s; the last answer was: ${last}.`)
}
