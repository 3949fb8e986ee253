import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { load } from 'js-yaml'
import { VERSION } from '../../src/core/release.ts'

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
})
