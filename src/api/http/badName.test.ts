import { expect } from 'chai'
import { badName } from './badName.ts'
import type { Route } from './route.ts'

const CREATION = {
  method: 'POST',
  path: '/boundaries/{boundaryId}/resourcegroups/{resourceGroupName}/resources/apps/{appName}',
} as Route

describe('a name that no object can have', () => {
  for (const [sentence, segment, shown] of [
    ['is told as it was written', 'Bad%20Name', '"Bad Name"'],
    ['is told as it came where it is no text', '%ff', '"%ff"'],
    ['is told as it came where it is an order to a terminal', '%1b', '"%1b"'],
  ] as const) {
    it(sentence, () => {
      const path = ['boundaries', 'b', 'resourcegroups', 'g', 'resources', 'apps', segment]
      expect(badName(CREATION, 'resource', path).message).to.include(shown)
    })
  }
})
