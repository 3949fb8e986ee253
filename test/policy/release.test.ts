import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { load } from 'js-yaml'
import { VERSION } from '../../src/core/release.ts'

describe('a release', () => {
  it('brings a client of its own version', () => {
    const text = readFileSync(new URL('../../packages/client/package.json', import.meta.url), 'utf8')
    expect((JSON.parse(text) as { version: string }).version).to.equal(VERSION)
  })

  it('is installed from the image of its own version', () => {
    const text = readFileSync(new URL('../../deploy/manifests/kustomization.yaml', import.meta.url), 'utf8')
    const { images } = load(text) as { images: { newTag: string }[] }
    expect(images.map(({ newTag }) => newTag)).to.deep.equal([VERSION])
  })
})
