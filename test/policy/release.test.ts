import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { load } from 'js-yaml'
import { VERSION } from '../../src/core/release.ts'

/** Bytes that the API server takes in the data of a Secret. */
const SECRET_MAX = 1_048_576

describe('a release', () => {
  it('brings a client of its own version', () => {
    const text = readFileSync(new URL('../../packages/client/package.json', import.meta.url), 'utf8')
    expect((JSON.parse(text) as { version: string }).version).to.equal(VERSION)
  })

  for (const place of ['manifests', 'agent']) {
    const text = readFileSync(new URL(`../../deploy/${place}/kustomization.yaml`, import.meta.url), 'utf8')
    const { images, labels } = load(text) as {
      images: { newTag: string }[]
      labels: { pairs: Record<string, string>; includeSelectors?: boolean }[]
    }

    it(`is installed from the image of its own version: deploy/${place}`, () => {
      expect(images.map(({ newTag }) => newTag)).to.deep.equal([VERSION])
    })

    it(`marks what it installs with its version, and selects nothing by it: deploy/${place}`, () => {
      expect(labels.map(({ pairs }) => pairs['app.kubernetes.io/version'])).to.deep.equal([VERSION])
      expect(labels.map(({ includeSelectors }) => includeSelectors)).to.deep.equal([undefined])
    })
  }

  it('fits into the Secret in which Helm keeps it, chart and manifests compressed and in base64, with room to grow', () => {
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
