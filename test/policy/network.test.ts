import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { load, loadAll } from 'js-yaml'
import { type NetworkPolicy, type Pod, rulesOf } from '../../scripts/node/networkPolicies.ts'
import { readConfiguration } from '../../src/config.ts'
import { ACTIVATOR_SERVICE } from '../../src/contracts/functions.ts'
import { BOUNDARY_LABEL } from '../../src/core/labels.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'

const read = (path: string) => readFileSync(join(import.meta.dirname, '../../deploy', path), 'utf8')
const objectsIn = (path: string) => loadAll(read(path)) as KubeObject[]
const installed = objectsIn('install.yaml')
const atOthers = (load(read('agent/kustomization.yaml')) as { resources: string[] }).resources.flatMap((name) =>
  objectsIn(`agent/${name}`),
)
const policiesIn = (objects: readonly KubeObject[]) =>
  objects.filter(({ kind }) => kind === 'NetworkPolicy') as NetworkPolicy[]
const policies = policiesIn(installed)
const namespaces = [SYSTEM_NAMESPACE, 'tenant', 'proxies'].map((name) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name,
    labels: { 'kubernetes.io/metadata.name': name, ...(name === 'tenant' && { [BOUNDARY_LABEL]: 'a-boundary' }) },
  },
}))
const pod = (namespace: string, name: string, podIP: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace, name: `${name}-1`, labels: { 'app.kubernetes.io/name': name } },
  spec: {},
  status: { phase: 'Running', podIP },
})
const ACTIVATOR = pod(SYSTEM_NAMESPACE, 'freehold-activator', '10.244.0.2')
const STANDBY = pod(SYSTEM_NAMESPACE, 'freehold-activator', '10.244.0.6')
const FACADE = pod(SYSTEM_NAMESPACE, 'freehold-facade', '10.244.0.3')
const others = [
  pod(SYSTEM_NAMESPACE, 'freehold-controllers', '10.244.0.4'),
  // Whoever creates pods in a tenant's namespace chooses their labels.
  pod('tenant', 'freehold-facade', '10.244.0.5'),
  pod('proxies', 'ingress', '10.244.0.7'),
]

describe('statistics of the activator', () => {
  const { figuresUrl, figuresPort, activatorPort, activatorPeerPort, managementPort } = readConfiguration({
    PLATFORM_ISSUER: 'https://login.example.com',
  })

  it('are served at the URL that the facade uses', () => {
    const service = installed.find(({ kind, metadata }) => kind === 'Service' && metadata.name === ACTIVATOR_SERVICE)
    const { ports } = (service?.spec ?? { ports: [] }) as { ports: { name: string; port: number }[] }
    const shown = ports.find(({ name }) => name === 'figures')
    expect(figuresUrl).to.equal(`http://${ACTIVATOR_SERVICE}.${SYSTEM_NAMESPACE}.svc:${shown?.port}`)
    expect(figuresPort).to.equal(shown?.port)
    expect(new Set([activatorPort, managementPort, figuresPort, activatorPeerPort]).size).to.equal(4)
  })

  const script = rulesOf({ policies, pods: [ACTIVATOR, STANDBY, FACADE, ...others], namespaces })
  const chain = /chain to_10_244_0_2 \{\n([^}]*)\n {2}\}/.exec(script)?.[1]?.split('\n') ?? []
  const lets = chain.map((line) => line.trim()).filter((line) => line.endsWith('return'))

  it('are reachable for facades only, and forwarded calls for activators only', () => {
    const peers = lets.filter((line) => line.includes(String(activatorPeerPort)))
    expect(peers.map((line) => line.split(' ')[2]).sort()).to.deep.equal(['10.244.0.2', '10.244.0.6'])
    expect(lets.filter((line) => line.includes(String(figuresPort)))).to.deep.equal([
      `ip saddr 10.244.0.3 tcp dport ${figuresPort} return`,
    ])
    expect(lets.every((line) => line.includes('dport'))).to.equal(true)
  })

  it('stand beside functions that no pod of a tenant calls around the proxy, which restricts who may', () => {
    const callers = lets.filter((line) => line.includes(`dport ${activatorPort} `)).map((line) => line.split(' ')[2])
    expect(callers).to.include('10.244.0.7').and.not.include('10.244.0.5')
  })
})

for (const [where, objects, ports] of [
  ['the installation', installed, 9],
  ['the agent for other clusters', atOthers, 1],
] as const)
  describe(`pods of ${where}`, () => {
    type Container = { ports?: { name: string; containerPort: number }[] } & Record<string, unknown>
    type Deployment = KubeObject & { spec: { template: { spec: { containers: Container[] } } } }
    const deployments = objects.filter(({ kind }) => kind === 'Deployment') as Deployment[]
    const containers = deployments.flatMap(({ metadata, spec }) =>
      spec.template.spec.containers.map((container) => [metadata.name, container] as const),
    )
    const open = containers.flatMap(([deployment, { ports = [] }]) =>
      ports.map(({ name, containerPort }) => [deployment, name, containerPort] as const),
    )
    const lets = (deployment: string) => {
      const target = pod(SYSTEM_NAMESPACE, deployment, '10.244.1.1')
      const script = rulesOf({ policies: policiesIn(objects), pods: [target, FACADE, ...others], namespaces })
      return /chain to_10_244_1_1 \{\n([^}]*)\n {2}\}/.exec(script)?.[1]
    }

    it(`have ${ports} ports`, () => expect(open).to.have.length(ports))

    for (const [deployment, container] of containers)
      it(`have startup, liveness and readiness probes: ${deployment}`, () => {
        expect(container).to.include.keys('startupProbe', 'livenessProbe', 'readinessProbe')
      })

    for (const [deployment, name, port] of open)
      it(`accept connections to port ${name}: ${deployment}`, () => {
        expect(lets(deployment)).to.match(new RegExp(`dport ${port} return`))
      })

    for (const { metadata } of deployments)
      it(`show metrics to pods of administrators only: ${metadata.name}`, () => {
        const scrapes = lets(metadata.name)?.match(/.*dport 9090 return$/gm) ?? []
        expect(scrapes.join('\n')).to.include('10.244.0.7').and.not.include('10.244.0.5')
        expect(scrapes.filter((line) => !line.includes('saddr'))).to.deep.equal([])
      })

    for (const { metadata } of deployments)
      it(`accept connections to named ports only: ${metadata.name}`, () => {
        const returns = lets(metadata.name)?.match(/.* return$/gm) ?? ['all of them']
        expect(returns.filter((line) => !line.includes('dport'))).to.deep.equal([])
      })
  })
