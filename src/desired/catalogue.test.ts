import { expect } from 'chai'
import { readTemplate } from '../contracts/blueprints/validate.ts'
import { BLUEPRINT_COLLECTIONS } from '../crds/blueprintCollections.ts'
import type { BlueprintSource } from '../crds/blueprintSources.ts'
import type { DeploymentSource } from '../crds/sources.ts'
import { judgeFiles, nextReading, type Push, pushOf } from './catalogue.ts'

const URL_OF = 'https://git.example.com/acme/blueprints.git'
const [NOW, MINUTE, HOUR] = [Date.parse('2026-01-01T12:00:00Z'), 60_000, 3_600_000]
const ago = (milliseconds: number) => new Date(NOW - milliseconds).toISOString()

type Status = NonNullable<BlueprintSource['status']>
function source(status?: Status, spec: object = {}, generation = 2) {
  const whole = { repositoryUrl: URL_OF, ref: 'main', path: '/', enabled: true, requests: {}, ...spec }
  return { metadata: { generation }, spec: whole as BlueprintSource['spec'], ...(status !== undefined && { status }) }
}

describe('a source of blueprints is read again', () => {
  const ready: Status = { state: 'Ready', attemptedAt: ago(MINUTE), syncedGeneration: 2, revision: 'aaa' }
  const failing = (failures: number): Status => ({ ...ready, state: 'Failing', failures })
  const push: Push = { deliveryId: '7', commit: 'bbb' }
  const cases: [string, Status | undefined, Push | undefined, number][] = [
    ['at once if it never was', undefined, undefined, 0],
    ['an hour after the last time', ready, undefined, HOUR - MINUTE],
    ['at once when the hour is over', { ...ready, attemptedAt: ago(2 * HOUR) }, undefined, 0],
    ['at once for another spec or a request', { ...ready, syncedGeneration: 1 }, undefined, 0],
    ['at once after a push', ready, push, 0],
    ['at its time after a push that was heard', { ...ready, pushedDelivery: '7' }, push, HOUR - MINUTE],
    ['at its time after a push of what it has', { ...ready, revision: 'bbb' }, push, HOUR - MINUTE],
    ['at once when it is switched on', { ...ready, state: 'Disabled' }, undefined, 0],
    [
      'after some seconds, if it was read a moment before',
      { ...ready, attemptedAt: ago(0), syncedGeneration: 1 },
      undefined,
      5_000,
    ],
    ['after a minute if it failed once', failing(1), undefined, 0],
    ['after two if it failed twice', failing(2), undefined, MINUTE],
    ['after sixteen if it failed five times', failing(5), undefined, 15 * MINUTE],
    ['after an hour at most, however often it failed', failing(500), undefined, HOUR - MINUTE],
  ]
  for (const [title, status, pushed, expected] of cases) {
    it(title, () => {
      expect(nextReading(source(status), pushed, NOW).after).to.equal(expected)
    })
  }
})

describe('a push wakes a source of blueprints', () => {
  const head = {
    kind: 'Push',
    repositoryId: '5',
    repositoryName: 'acme/blueprints',
    ref: 'refs/heads/main',
    commit: 'bbb',
    deliveryId: '7',
    receivedAt: ago(0),
  }
  const of = (spec: object, ...heads: object[]) =>
    ({
      metadata: { name: 'a-source' },
      spec: { provider: 'Gitea', baseUrl: 'https://git.example.com', ...spec },
      status: { heads },
    }) as unknown as DeploymentSource
  const installed = { repositoryUrl: undefined, installationId: 'a-source', repositoryId: '5' }
  const gitHub = { provider: 'GitHub', installationId: '77', baseUrl: 'https://github.com' }
  const cases: [string, object, DeploymentSource, string | undefined][] = [
    ['of its address, by the name that the host knows', {}, of({}, head), '7'],
    [
      'of its address, if a source is that one repository',
      {},
      of({ provider: 'Git', baseUrl: URL_OF }, { ...head, repositoryName: 'x' }),
      '7',
    ],
    ['of its installation', installed, of({}, head), '7'],
    ['of its installation at GitHub', { ...installed, installationId: '77' }, of(gitHub, head), '7'],
    ['unless the installation is another one', { ...installed, installationId: '78' }, of(gitHub, head), undefined],
    ['unless the repository is another one', installed, of({}, { ...head, repositoryId: '6' }), undefined],
    ['unless the address is another one', {}, of({ baseUrl: 'https://other.example.com' }, head), undefined],
    ['unless the branch is another one', {}, of({}, { ...head, ref: 'refs/heads/main2' }), undefined],
    ['unless it is a pull request', {}, of({}, { ...head, kind: 'PullRequest' }), undefined],
    ['of its tag', { ref: 'v1' }, of({}, { ...head, kind: 'Tag', ref: 'refs/tags/v1' }), '7'],
    ['by the newest delivery', {}, of({}, { ...head, receivedAt: ago(HOUR) }, { ...head, deliveryId: '8' }), '8'],
  ]
  for (const [title, spec, deploymentSource, expected] of cases) {
    it(title, () => {
      expect(pushOf(source(undefined, spec), [deploymentSource])?.deliveryId).to.equal(expected)
    })
  }
})

describe('files of a repository', () => {
  const template = (slug: string, more = '') => `format: 1
slug: ${slug}
name: A template
version: 1.0.0
components:
  - { name: vectors, collection: vectorclusters, resourceName: "\${deploy.name}" }
${more}`
  const judge = (files: Record<string, string>, unread: { path: string; why: string }[] = []) =>
    judgeFiles(
      Object.entries(files).map(([path, content]) => ({ path, content })),
      unread,
      (content) => readTemplate(content, BLUEPRINT_COLLECTIONS),
      async () => undefined,
    )

  it('become templates, whatever the others are', async () => {
    const { templates, invalid } = await judge({
      'a.yaml': template('a'),
      'b.yaml': 'format: [',
      'c.yaml': template('c', 'colour: red\n'),
      'd.json': JSON.stringify({ some: 'other file' }),
      'e.yaml': template('e'),
    })
    expect(templates.map(({ slug, path }) => `${slug} ${path}`)).to.deep.equal(['a a.yaml', 'e e.yaml'])
    expect(invalid.map(({ path, errors }) => `${path} ${errors[0]?.code}`)).to.deep.equal([
      'b.yaml Syntax',
      'c.yaml UnknownField',
      'd.json MissingField',
    ])
  })

  it('with one slug twice give one template, the first by path', async () => {
    const { templates, invalid } = await judge({ 'a.yaml': template('same'), 'b.yaml': template('same') })
    expect(templates.map(({ path }) => path)).to.deep.equal(['a.yaml'])
    expect(invalid[0]?.errors[0]).to.include({ code: 'DuplicateName', path: '' })
    expect(invalid[0]?.errors[0]?.message).to.include('a.yaml')
  })

  it('that were not read are told among what is not valid, by path', async () => {
    const { invalid } = await judge({ 'b.yaml': '' }, [
      { path: 'c.yaml', why: 'is not text in UTF-8' },
      { path: 'a.yaml', why: 'is empty' },
    ])
    expect(invalid.map(({ path }) => path)).to.deep.equal(['a.yaml', 'b.yaml', 'c.yaml'])
    expect(invalid[2]?.errors[0]?.message).to.equal('The file is not text in UTF-8.')
  })
})
