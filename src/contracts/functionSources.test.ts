import { expect } from 'chai'
import { pathObstacle, sourceObstacle } from './functionSources.ts'

describe('paths of a source', () => {
  const cases: [string, string, boolean][] = [
    ['take a file', 'index.js', true],
    ['take folders', 'src/deep/er/index.js', true],
    ['take names that begin with a dot', '.env', true],
    ['take names that hold two dots', 'a..b', true],
    ['refuse an absolute path', '/etc/passwd', false],
    ['refuse a way up', 'a/../../b', false],
    ['refuse a way up alone', '..', false],
    ['refuse an empty path', '', false],
    ['refuse an empty part', 'a//b', false],
    ['refuse a folder', 'a/', false],
    ['refuse a backslash', 'a\\..\\b', false],
    ['refuse a drive', 'C:x', false],
    ['refuse a control character', 'a\u0000b', false],
    ['refuse what is too long', 'x'.repeat(256), false],
  ]
  for (const [sentence, path, may] of cases) {
    it(sentence, () => expect(pathObstacle(path) === undefined).to.equal(may))
  }
})

describe('files of a source', () => {
  const cases: [string, string[], RegExp | undefined][] = [
    ['may share a folder', ['a/x', 'a/y', 'b'], undefined],
    ['are not the same twice', ['a', 'b', 'a'], /^The path "a" stands there twice$/],
    ['differ in more than case', ['Readme', 'readme'], /"readme" cannot exist beside "Readme"/],
    ['are not folders of others', ['a', 'a/b'], /^The folder "a" cannot exist beside "a"$/],
    ['are not folders of those before', ['a/b', 'A'], /"A" cannot exist beside "a"/],
    ['have folders that differ in more than case', ['a/x', 'A/y'], /folder "A" cannot exist beside "a"/],
  ]
  for (const [sentence, paths, expected] of cases) {
    it(sentence, () => {
      const message = sourceObstacle(paths)?.message
      if (expected === undefined) expect(message).to.equal(undefined)
      else expect(message).to.match(expected)
    })
  }
})
