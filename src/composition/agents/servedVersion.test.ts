import { expect } from 'chai'
import { FakeKubeClient } from '../../kube/fake.ts'
import { ServedVersion } from './servedVersion.ts'

describe('ServedVersion', () => {
  it('refresh() returns whether the version changed, and keeps the known one without a valid answer', async () => {
    let served: string | undefined
    const client = new FakeKubeClient()
    client.request = async () => {
      if (served === undefined) throw new Error('No answer.')
      return { text: async () => served } as never
    }
    const version = new ServedVersion(client)
    const rounds: [string | undefined, boolean, string][] = [
      [undefined, false, 'unknown'],
      ['{"gitVersion":"v1.34.1"}', true, 'v1.34.1'],
      ['{"gitVersion":"v1.34.1"}', false, 'v1.34.1'],
      [undefined, false, 'v1.34.1'],
      ['not JSON', false, 'v1.34.1'],
      ['{"gitVersion":"v1.35.0"}', true, 'v1.35.0'],
    ]
    for (const [answer, hasChanged, known] of rounds) {
      served = answer
      expect([await version.refresh(), version.known], answer).to.deep.equal([hasChanged, known])
    }
  })
})
