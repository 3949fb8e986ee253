import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { VERSION } from '../../src/core/release.ts'

/** The API server's limit for the data of a Secret, in bytes. */
const SECRET_MAX = 1_048_576

type Schema = { description?: string; properties?: Record<string, Schema> }

/** Values and their fields, as far as they are ours and not those of Kubernetes. */
const OF_KUBERNETES = new Set(['affinity', 'resources'])

function undescribed({ properties = {} }: Schema, path = ''): string[] {
  return Object.entries(properties).flatMap(([name, value]) => [
    ...(value.description === undefined ? [`${path}${name}`] : []),
    ...(OF_KUBERNETES.has(name) ? [] : undescribed(value, `${path}${name}.`)),
  ])
}

describe('a release', () => {
  it('describes every value of the chart', () => {
    const text = readFileSync(new URL('../../deploy/helm/freehold/values.schema.json', import.meta.url), 'utf8')
    const schema = JSON.parse(text) as Schema
    expect(Object.keys(schema.properties ?? {})).to.include.members(['facade', 'configuration', 'buildNamespace'])
    expect(undescribed(schema)).to.deep.equal([])
  })

  it('has a client of the same version', () => {
    const text = readFileSync(new URL('../../packages/client/package.json', import.meta.url), 'utf8')
    expect((JSON.parse(text) as { version: string }).version).to.equal(VERSION)
  })

  it('fits into the Secret of Helm with 25% to spare', () => {
    const chart = new URL('../../deploy/helm/freehold/', import.meta.url)
    const files = (folder: URL) => readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'base64'))
    const kept = {
      templates: files(new URL('templates/', chart)),
      schema: readFileSync(new URL('values.schema.json', chart), 'base64'),
      manifest: readFileSync(new URL('../../deploy/install.yaml', import.meta.url), 'utf8'),
    }
    const bytes = gzipSync(JSON.stringify(kept), { level: 9 }).toString('base64').length
    expect(bytes)
      .to.be.greaterThan(300_000)
      .and.lessThan(0.75 * SECRET_MAX)
  })
})
