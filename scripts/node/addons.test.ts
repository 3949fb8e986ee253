import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { readManifests } from '../platform/manifests.ts'
import { GATEWAY, GATEWAY_ADDRESS, REGISTRY } from './addresses.ts'
import { NODE_IMAGES } from './programs.ts'
import { PROMETHEUS_IMAGE } from './prometheus.ts'

const folder = join(import.meta.dirname, '../../deploy/node')

describe('manifests of the node', () => {
  const objects = readdirSync(folder).flatMap((name) => readManifests(join(folder, name)))
  const specOf = (kind: string) => objects.filter((object) => object.kind === kind).map(({ spec }) => spec)

  it('use only images that the registry of the node contains', () => {
    const images = [...JSON.stringify(objects).matchAll(/"image":"([^"]+)"/g)].map(([, image]) => image)
    expect(images).to.have.length(3)
    expect([...NODE_IMAGES, PROMETHEUS_IMAGE].map((name) => `${REGISTRY}/${name}`)).to.include.members(images)
  })

  it('use the configured Gateway and its address', () => {
    const [gateway] = objects.filter(({ kind }) => kind === 'Gateway')
    expect(gateway?.metadata).to.include(GATEWAY)
    expect(specOf('Service').map((spec) => (spec as { clusterIP?: string }).clusterIP)).to.include(GATEWAY_ADDRESS)
  })

  it('let the two listeners of the Gateway accept routes of all namespaces', () => {
    const [spec] = specOf('Gateway') as { listeners: { allowedRoutes: object }[] }[]
    for (const { allowedRoutes } of spec?.listeners ?? [])
      expect(allowedRoutes).to.deep.equal({ namespaces: { from: 'All' } })
    expect(spec?.listeners).to.have.length(2)
  })
})
