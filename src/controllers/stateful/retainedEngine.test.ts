import { expect } from 'chai'
import { engineObstacle } from './retainedEngine.ts'
import type { Claim } from './types.ts'

const keptBy = (engine: string | undefined) =>
  ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: 'storage-sqli-books-0',
      ...(engine !== undefined && { annotations: { 'freehold.dev/retained-engine': engine } }),
    },
    spec: {},
  }) as Claim

const cases: [sentence: string, kept: string | undefined, wanted: string, obstacle: RegExp | undefined][] = [
  ['accepts the same version', 'MariaDB 10.11', 'MariaDB 10.11', undefined],
  ['accepts a newer version', 'MariaDB 10.11', 'MariaDB 11.4', undefined],
  ['compares versions by number', 'Qdrant 1.9.4', 'Qdrant 1.10.1', undefined],
  ['accepts a volume without an engine annotation', undefined, 'MariaDB 10.11', undefined],
  [
    'rejects an older version',
    'MariaDB 11.4',
    'MariaDB 10.11',
    /^Volume claim "storage-sqli-books-0" holds the files of MariaDB 11\.4, which MariaDB 10\.11 cannot read\. Set engineVersion to at least 11\.4, or delete the claim/,
  ],
  [
    'rejects another engine',
    'MsSql 2022',
    'MariaDB 11.8',
    /Delete this resource and create it with MsSql, or delete the claim/,
  ],
]

describe('engineObstacle', () => {
  for (const [sentence, kept, wanted, obstacle] of cases) {
    it(sentence, () => {
      const [name = '', version = ''] = wanted.split(' ')
      const found = engineObstacle(keptBy(kept), { name, version, field: 'engineVersion' })
      if (obstacle === undefined) expect(found).to.equal(undefined)
      else expect(found).to.match(obstacle)
    })
  }
})
