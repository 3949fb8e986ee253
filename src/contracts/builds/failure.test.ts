import { expect } from 'chai'
import { failureOfArchive, failureOfBuild, failureOfGit } from './failure.ts'

describe('failureOfBuild', () => {
  const cases: [said: string, expected: string][] = [
    [
      'ERROR: failed to build: failed to solve: process "/bin/sh -c npm run \\"build\\"" did not complete successfully: exit code: 2',
      'CommandFailed: The command "npm run \\"build\\"" ended with exit code 2: see the log of the build.',
    ],
    [
      'process "/bin/sh -c x" did not complete successfully: exit code: 137',
      'OutOfMemory: A command of the build was killed',
    ],
    ['write /app/a: no space left on device', 'OutOfDisk: The build wrote more'],
    [
      'failed to read dockerfile: open deploy/D: no such file or directory',
      'NothingToBuild: There is no Dockerfile at deploy/D',
    ],
    [
      'dockerfile parse error on line 3: unknown instruction: EVIL',
      'NothingToBuild: The Dockerfile cannot be read: line 3',
    ],
    [
      'failed to resolve source metadata for docker.io/library/nope:1: not found',
      'CommandFailed: The image docker.io/library/nope:1',
    ],
    [
      'failed to calculate checksum of ref abc::def: "/missing": not found',
      'CommandFailed: The Dockerfile copies "/missing", which does not exist.',
    ],
    [
      'failed to resolve source metadata for 10.0.0.1:5000/other/shop:1: 10.0.0.1:5000/other/shop:1: not found',
      'CommandFailed: The image 10.0.0.1:5000/other/shop:1, which',
    ],
    ['failed to solve: security.insecure is not allowed', 'CommandFailed: The Dockerfile asks for "security.insecure"'],
    ['failed to solve: secret stolen: not found', 'CommandFailed: The Dockerfile asks for the secret "stolen"'],
    ['no SSH key "default" forwarded from the client', 'CommandFailed: The Dockerfile asks for the SSH key "default"'],
    ['base name ($IMAGE) should not be blank', 'NothingToBuild: The Dockerfile begins with "$IMAGE"'],
    ['failed to parse stage name "a b": invalid reference', 'NothingToBuild: The Dockerfile begins with "a b"'],
    ['dockerfile line greater than max allowed size of 65535', 'NothingToBuild: The Dockerfile cannot be read: a line'],
    ['circular dependency detected on stage: a', 'NothingToBuild: The stage "a" of the Dockerfile depends on itself.'],
    ['cannot copy from stage "b", it needs to be defined', 'NothingToBuild: The Dockerfile takes from its stage "b"'],
    ['file with no instructions', 'NothingToBuild: The Dockerfile has nothing to build'],
    [
      'failed to load cache key: Get "http://169.254.169.254/": dial tcp: timeout',
      'CommandFailed: The Dockerfile adds http://169.254.169.254/, which cannot be reached',
    ],
    [
      'unsupported mount type "host"',
      'NothingToBuild: The Dockerfile cannot be read: there are no mounts of the kind "host".',
    ],
    ['no SSH key "" forwarded from the client', 'CommandFailed: The Dockerfile asks for the SSH key "default"'],
    ['anything else', 'CommandFailed: The build failed: see its log.'],
  ]
  for (const [output, expected] of cases) {
    it(`returns ${expected.replace(/:.*/, '')} for ${output.slice(0, 80)}`, () => {
      const { failure, message } = failureOfBuild(output)
      expect(`${failure}: ${message}`).to.include(expected)
    })
  }

  it('removes control characters from the message', () => {
    const { message } = failureOfBuild('process "a\u001b[31m\nb" did not complete successfully: exit code: 1')
    expect(message).to.not.match(/\p{Cc}/u)
  })
})

describe('failureOfGit', () => {
  const cases: [said: string, expected: string][] = [
    ["fatal: could not read Username for 'https://x': terminal prompts disabled", 'refused the credentials'],
    ['fatal: Authentication failed for https://x', 'refused the credentials'],
    ['git@x: Permission denied (publickey).', 'refused the credentials'],
    ['Host key verification failed.', 'is not one of the known ones'],
    ["fatal: couldn't find remote ref refs/heads/nope", 'no branch "refs/heads/nope"'],
    ['fatal: remote error: upload-pack: not our ref 123', 'no longer has this commit'],
    ["fatal: repository 'https://x' not found", 'does not have this repository'],
    ['fatal: unable to access: Could not resolve host: x', 'cannot be reached'],
    ["fatal: transport 'ext' not allowed", 'not by "ext"'],
    ["error: invalid path '../a'", 'contains "../a", a path that leads out'],
    ['fatal: something else', 'could not be fetched'],
  ]
  for (const [output, expected] of cases)
    it(`explains ${output}`, () => expect(failureOfGit(output).message).to.include(expected))
})

describe('failureOfArchive', () => {
  const place = 'registry.example.test/b/shop/apps/web@sha256:aa'
  const cases: [said: string, failure: string][] = [
    [`Error: fetching manifest ${place}: GET https://x/v2/: MANIFEST_UNKNOWN: manifest unknown`, 'SourceUnreachable'],
    [`Error: fetching manifest ${place}: NAME_UNKNOWN: repository name not known to registry`, 'SourceUnreachable'],
    [`Error: fetching manifest ${place}: unexpected status code 404 Not Found`, 'SourceUnreachable'],
    [`Error: fetching manifest ${place}: Get "https://x/v2/": dial tcp: connect: connection refused`, 'BuilderFailed'],
    [`Error: fetching manifest ${place}: UNAUTHORIZED: authentication required`, 'BuilderFailed'],
    [`Error: fetching manifest ${place}: unexpected status code 503 Service Unavailable`, 'BuilderFailed'],
  ]
  for (const [output, failure] of cases)
    it(`returns ${failure} for ${output.slice(output.indexOf('aa: ') + 4)}`, () =>
      expect(failureOfArchive(output).failure).to.equal(failure))
})
