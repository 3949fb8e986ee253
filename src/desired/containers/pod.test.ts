import { expect } from 'chai'
import { containerNamesOf } from '../../contracts/containerinstances.ts'
import { ContainerInstance } from '../../crds/containerinstances.ts'
import { completeContainers } from '../../crds/containerRules.ts'
import { type InstanceInput, podOf } from './index.ts'

const plan = { cpuRequest: '1', cpuLimit: '1', memoryRequest: '1Gi', memoryLimit: '1Gi', replicas: 1 }

describe('podOf', () => {
  it('asks the registry each time for an image of another group', () => {
    const image = 'own.test/22222222-2222-4222-8222-222222222222/shop/apps/web:1'
    const instance = {
      ...{ apiVersion: ContainerInstance.apiVersion, kind: ContainerInstance.kind },
      metadata: { name: 'web', namespace: 'g-1', uid: 'u' },
      spec: completeContainers(ContainerInstance.spec.parse({ components: [{ name: 'main', image }] })),
    }
    const [component] = instance.spec.components
    if (component === undefined) throw new Error('There is a component.')
    const input = {
      ...{ instance, names: containerNamesOf(instance as never), plans: new Map([['main', plan]]), secrets: [] },
      ...{ namespace: 'g-1', labels: {}, selector: {}, registryHost: 'own.test', disk: {}, isShared: () => true },
    }
    const { containers } = podOf(input as unknown as InstanceInput, component) as { containers: object[] }
    expect(containers[0]).to.include({ image, imagePullPolicy: 'Always' })
  })
})
