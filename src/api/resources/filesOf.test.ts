import { expect } from 'chai'
import { COMPONENT_LABEL } from '../../contracts/containerinstances.ts'
import { ContainerInstance } from '../../crds/containerinstances.ts'
import type { Context } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import { filesOf } from './files.ts'

const instance = {
  apiVersion: ContainerInstance.apiVersion,
  kind: ContainerInstance.kind,
  metadata: { name: 'shop', namespace: 'home', uid: 'uid' },
  spec: {},
} as unknown as RecordOf<typeof ContainerInstance>

const pod = (nodeName: string | undefined, deletionTimestamp?: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: nodeName ?? 'waiting', labels: { [COMPONENT_LABEL]: 'web' }, deletionTimestamp },
  spec: { nodeName },
})

const nodeBeside = async (...pods: object[]) => {
  const services = { live: { pods: async () => pods }, records: { peek: () => undefined, peekAll: () => [] } }
  const found = await filesOf({ services } as unknown as Context, instance as never, 'web', {
    volumes: [],
    hasVolumes: true,
  })
  return found.node
}

describe('the node of filesOf', () => {
  it('is the node of the running pod', async () => {
    expect(await nodeBeside(pod('one'))).to.equal('one')
  })

  it('ignores a pod that is not scheduled', async () => {
    expect(await nodeBeside(pod(undefined), pod('one'))).to.equal('one')
  })

  it('prefers the new pod to a terminating one', async () => {
    expect(await nodeBeside(pod('one', '2026-01-01T00:00:00Z'), pod('two'))).to.equal('two')
  })

  it('is the node of a terminating pod while the new one is not scheduled', async () => {
    expect(await nodeBeside(pod('one', '2026-01-01T00:00:00Z'), pod(undefined))).to.equal('one')
  })
})
