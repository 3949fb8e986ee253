import { secret } from '../../src/kube/builtin.ts'
import type { FakeKubeClient } from '../../src/kube/fake.ts'

/** Deletion of Secrets by label, which the API server in memory lacks. */
export function answerRemovals(client: FakeKubeClient, namespace: string): void {
  client.answer(/\/secrets$/, ({ query }) => {
    const labels = String((query as { labelSelector: string }).labelSelector)
      .split(',')
      .map((pair) => pair.split('='))
    void client.list(secret, { namespace }).then(async ({ items }) => {
      for (const { metadata } of items)
        if (labels.every(([key = '', value]) => metadata.labels?.[key] === value))
          await client.remove(secret, { namespace, name: metadata.name })
    })
    return { status: 200, text: '{}' }
  })
}
