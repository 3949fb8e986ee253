import { expect } from 'chai'
import { ComponentRelease } from '../../crds/lifecycle.ts'
import { RELEASE_ANNOTATION, releaseSpec } from './release.ts'

function said(words: Record<string, string>, more: Record<string, string> = {}) {
  const own = Object.entries(words).map(([name, text]) => [`${RELEASE_ANNOTATION}${name}`, text])
  const annotations = { ...Object.fromEntries(own), ...more }
  return releaseSpec('shop', { version: '1.20.0', digest: `sha256:${'a'.repeat(64)}`, isSigned: true, annotations })
}

describe('releaseSpec', () => {
  it('reads all annotations of a chart', () => {
    const spec = said(
      {
        ...{ 'schema-breaking': 'true', 'migrates-database': 'true', 'required-minor': '1.19' },
        ...{
          pins: 'cert-manager=v1.20.0, traefik=37.0.0',
          'required-values': 'a.b, c',
          'notes-url': 'https://x.test/n',
        },
      },
      { 'org.opencontainers.image.created': '2026-01-01T00:00:00Z' },
    )
    expect(spec).to.deep.include({
      ...{ component: 'shop', version: '1.20.0', isSigned: true, publishedAt: '2026-01-01T00:00:00Z' },
      ...{ isSchemaBreaking: true, migratesDatabase: true, requiredMinor: '1.19', requiredValues: ['a.b', 'c'] },
      ...{ pins: { 'cert-manager': 'v1.20.0', traefik: '37.0.0' }, notesUrl: 'https://x.test/n' },
    })
  })

  it('ignores invalid annotations and stays a valid spec', () => {
    const hostile = {
      pins: 'nothing,__proto__=1',
      'minimum-from-version': 'old',
      'required-values': '{}',
      'required-minor': 'x',
    }
    const spec = said(
      { ...hostile, 'notes-url': 'javascript:alert(1)' },
      { 'org.opencontainers.image.created': 'soon' },
    )
    expect(spec).to.deep.include({ pins: {}, requiredValues: [], isSchemaBreaking: false })
    expect([spec.notesUrl, spec.publishedAt, spec.minimumFromVersion, spec.requiredMinor]).to.deep.equal(
      Array(4).fill(undefined),
    )
    expect(ComponentRelease.spec.safeParse(spec).success).to.equal(true)
  })

  it('reads any schema-breaking value except "false" as true', () => {
    expect(said({ 'schema-breaking': 'yes' }).isSchemaBreaking).to.equal(true)
    expect(said({ 'schema-breaking': 'false' }).isSchemaBreaking).to.equal(false)
  })
})
