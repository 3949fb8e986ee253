import { expect } from 'chai'
import { type BuildableCode, type BuildRequestInput, buildRequestOf } from './request.ts'

const PIPELINE: BuildableCode['pipeline'] = {
  rootPath: '/web',
  outputPath: 'dist',
  buildEnv: [],
  buildTimeoutMinutes: 15,
}
const CODE: BuildableCode = {
  repositoryUrl: 'https://git.example.test/shop.git',
  branch: 'main',
  pipeline: PIPELINE,
  port: 3000,
}
const BOUNDARY = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01'
const ID = '11111111-2222-4333-8444-555555555555'

const requested = (more: Partial<BuildRequestInput> = {}) =>
  buildRequestOf({
    owner: { boundaryId: BOUNDARY, resourceGroup: 'shop', collection: 'apps', name: 'web' },
    deploymentId: ID,
    code: CODE,
    purpose: 'Service',
    registry: 'registry.example.test',
    ...more,
  })

describe('buildRequestOf', () => {
  it('requests the newest commit of the branch for the repository of the resource', () => {
    const { source, target, recipe } = requested() ?? {}
    expect(source).to.include({ kind: 'Git', url: CODE.repositoryUrl, branch: 'main', commit: undefined })
    expect(target).to.include({ repository: `${BOUNDARY}/shop/apps/web`, tag: ID, cache: 'main' })
    expect(recipe).to.include({ rootPath: '/web', port: 3000, timeoutSeconds: 900 })
  })

  it('requests the pushed commit with the cache of its branch', () => {
    const { source, target } = requested({ commit: 'a'.repeat(40), branch: 'feature/one' }) ?? {}
    expect(source).to.include({ branch: 'feature/one', commit: 'a'.repeat(40) })
    expect(target?.cache).to.equal('feature/one')
  })

  it('requests the uploaded archive', () => {
    expect(requested({ archive: 'a@sha256:1' })?.source).to.deep.equal({ kind: 'Archive', reference: 'a@sha256:1' })
  })

  it('returns nothing without a source', () => {
    expect(requested({ code: { ...CODE, repositoryUrl: undefined } })).to.equal(undefined)
  })

  const outputs: [sentence: string, pipeline: Partial<BuildableCode['pipeline']>, expected: string | undefined][] = [
    ['no folder without a build command', {}, undefined],
    ['outputPath of the pipeline with a build command', { buildCommand: 'make' }, 'dist'],
    ['another outputPath', { outputPath: 'public' }, 'public'],
  ]
  for (const [sentence, pipeline, expected] of outputs) {
    it(`requests of a site ${sentence}`, () => {
      const code = { ...CODE, pipeline: { ...PIPELINE, ...pipeline } }
      expect(requested({ purpose: 'Site', code })?.recipe.outputPath).to.equal(expected)
    })
  }

  it('passes the variables of the build', () => {
    const code = { ...CODE, pipeline: { ...PIPELINE, buildEnv: [{ name: 'A', value: 'b' }] } }
    expect(requested({ code })?.recipe.environment).to.deep.equal([{ name: 'A', value: 'b' }])
  })
})
