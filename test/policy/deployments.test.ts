import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { loadAll } from 'js-yaml'
import type { KubeObject } from '../../src/core/object.ts'

type Spread = { topologyKey: string; matchLabelKeys?: string[] }
type Deployment = KubeObject & {
  spec: {
    replicas: number
    template: {
      spec: {
        topologySpreadConstraints?: Spread[]
        containers: { resources: { requests: Record<string, string> } }[]
      }
    }
  }
}

const DEPLOY = join(import.meta.dirname, '../../deploy')
const FILES = ['manifests/facade.yaml', 'manifests/controllers.yaml', 'manifests/activator.yaml', 'agent/agent.yaml']

const deployments = FILES.flatMap((file) => loadAll(readFileSync(join(DEPLOY, file), 'utf8')) as KubeObject[]).filter(
  (object): object is Deployment => object.kind === 'Deployment',
)

describe('deployments of the platform', () => {
  it('are one in each file', () => {
    expect(deployments).to.have.length(FILES.length)
  })

  for (const { metadata, spec } of deployments) {
    const pod = spec.template.spec

    it(`reserve what the kubelet ranks evictions by: ${metadata.name}`, () => {
      for (const { resources } of pod.containers)
        expect(resources.requests).to.include.keys('cpu', 'memory', 'ephemeral-storage')
    })

    if (spec.replicas === 1) continue
    it(`spread over nodes and zones, without counting pods of the former revision: ${metadata.name}`, () => {
      const spread = pod.topologySpreadConstraints ?? []
      const keys = spread.map(({ topologyKey }) => topologyKey)
      expect(keys).to.deep.equal(['kubernetes.io/hostname', 'topology.kubernetes.io/zone'])
      for (const { matchLabelKeys } of spread) expect(matchLabelKeys).to.deep.equal(['pod-template-hash'])
    })
  }
})
