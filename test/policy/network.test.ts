import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { loadAll } from 'js-yaml'
import { type NetworkPolicy, type Pod, rulesOf } from '../../scripts/node/networkPolicies.ts'
import { readConfiguration } from '../../src/config.ts'
import { ACTIVATOR_SERVICE } from '../../src/contracts/functions.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'

const installed = loadAll(readFileSync(join(import.meta.dirname, '../../deploy/install.yaml'), 'utf8')) as KubeObject[]
const policies = installed.filter(({ kind }) => kind === 'NetworkPolicy') as NetworkPolicy[]
const namespaces = [SYSTEM_NAMESPACE, 'tenant'].map((name) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
}))
const pod = (namespace: string, name: string, podIP: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace, name: `${name}-1`, labels: { 'app.kubernetes.io/name': name } },
  spec: {},
  status: { phase: 'Running', podIP },
})
const ACTIVATOR = pod(SYSTEM_NAMESPACE, 'freehold-activator', '10.244.0.2')
const FACADE = pod(SYSTEM_NAMESPACE, 'freehold-facade', '10.244.0.3')
const others = [
  pod(SYSTEM_NAMESPACE, 'freehold-controllers', '10.244.0.4'),
  // Whoever makes pods in a namespace of a tenant chooses their labels.
  pod('tenant', 'freehold-facade', '10.244.0.5'),
]

describe('what the activator counted', () => {
  const { figuresUrl, figuresPort, activatorPort, managementPort } = readConfiguration({
    PLATFORM_ISSUER: 'https://login.example.com',
  })

  it('is where a facade asks for it, as installed', () => {
    const service = installed.find(({ kind, metadata }) => kind === 'Service' && metadata.name === ACTIVATOR_SERVICE)
    const { ports } = (service?.spec ?? { ports: [] }) as { ports: { name: string; port: number }[] }
    const shown = ports.find(({ name }) => name === 'figures')
    expect(figuresUrl).to.equal(`http://${ACTIVATOR_SERVICE}.${SYSTEM_NAMESPACE}.svc:${shown?.port}`)
    expect(figuresPort).to.equal(shown?.port)
    expect([activatorPort, managementPort]).not.to.include(figuresPort)
  })

  it('is reached by facades only', () => {
    const script = rulesOf({ policies, pods: [ACTIVATOR, FACADE, ...others], namespaces })
    const chain = /chain to_10_244_0_2 \{\n([^}]*)\n {2}\}/.exec(script)?.[1]?.split('\n') ?? []
    const lets = chain.map((line) => line.trim()).filter((line) => line.endsWith('return'))
    expect(lets.filter((line) => line.includes(String(figuresPort)))).to.deep.equal([
      `ip saddr 10.244.0.3 tcp dport ${figuresPort} return`,
    ])
    expect(lets.every((line) => line.includes('dport'))).to.equal(true)
  })
})

describe('the ports of what is installed', () => {
  type Deployment = KubeObject & {
    spec: { template: { spec: { containers: { ports?: { name: string; containerPort: number }[] }[] } } }
  }
  const deployments = installed.filter(({ kind }) => kind === 'Deployment') as Deployment[]
  const open = deployments.flatMap(({ metadata, spec }) =>
    spec.template.spec.containers.flatMap(({ ports = [] }) =>
      ports.map(({ name, containerPort }) => [metadata.name, name, containerPort] as const),
    ),
  )

  it('are several of each deployment', () => expect(open.length).to.be.greaterThan(deployments.length))

  for (const [deployment, name, port] of open)
    it(`${name} of ${deployment} is reached by somebody`, () => {
      const target = pod(SYSTEM_NAMESPACE, deployment, '10.244.1.1')
      const script = rulesOf({ policies, pods: [target, FACADE, ...others], namespaces })
      const chain = /chain to_10_244_1_1 \{\n([^}]*)\n {2}\}/.exec(script)?.[1] ?? ''
      expect(chain).to.match(new RegExp(`dport ${port} return`))
    })
})
