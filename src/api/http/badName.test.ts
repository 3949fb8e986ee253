import { expect } from 'chai'
import { badName } from './badName.ts'
import type { Route } from './route.ts'

const CREATION = {
  method: 'POST',
  path: '/boundaries/{boundaryId}/resourcegroups/{resourceGroupName}/resources/apps/{appName}',
} as Route

describe('badName', () => {
  for (const [sentence, segment, shown] of [
    ['decodes the name in its message', 'Bad%20Name', '"Bad Name"'],
    ['leaves invalid UTF-8 encoded', '%ff', '"%ff"'],
    ['leaves control characters encoded', '%1b', '"%1b"'],
  ] as const) {
    it(sentence, () => {
      const path = ['boundaries', 'b', 'resourcegroups', 'g', 'resources', 'apps', segment]
      expect(badName(CREATION, 'resource', path).message).to.include(shown)
    })
  }
})
