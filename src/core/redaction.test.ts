import { expect } from 'chai'
import { redacted } from './redaction.ts'

describe('redacted', () => {
  const cases: [string, string, string][] = [
    ['keeps text without secrets', 'the page /tokens answers 500', 'the page /tokens answers 500'],
    ['masks a JWT', 'with eyJhbGciOi.eyJzdWIiOiIx.abc-_1 it fails', 'with *** it fails'],
    ['masks the value of an Authorization header', 'Authorization: Bearer abcdef123456', 'Authorization: Bearer ***'],
    ['masks the user part of a URL', 'postgres://app:s3cret@db/x', 'postgres://***@db/x'],
    ['masks a password in a sentence', 'I used password=hunter2; then', 'I used password=***; then'],
    ['masks a JSON field', '{"clientSecret": "a b c", "n": 1}', '{"clientSecret": ***, "n": 1}'],
    ['masks an access key', 'key AKIAABCDEFGHIJKLMNOP', 'key ***'],
    ['masks a token of a Git host', 'ghp_0123456789abcdefghij', '***'],
    ['masks a JWT after a hyphen', 'token-eyJhbGciOi.eyJzdWIiOiIx.abc', 'token-***'],
    ['masks a JWT after a similar text', 'eyJ.a.eyJhbGciOi.eyJzdWIi.abc x', 'eyJ.a.*** x'],
    ['keeps words that resemble a JWT', 'heyJude.andso and eyJ.on', 'heyJude.andso and eyJ.on'],
    [
      'masks each private key and keeps the text between them',
      'a -----BEGIN PRIVATE KEY-----x-----END PRIVATE KEY----- b -----BEGIN RSA PRIVATE KEY-----y-----END RSA PRIVATE KEY----- c',
      'a *** b *** c',
    ],
    [
      'masks a private key of 20,000 characters',
      `a -----BEGIN PRIVATE KEY-----${'x'.repeat(20_000)}-----END PRIVATE KEY----- b`,
      'a *** b',
    ],
    [
      'masks a private key within another',
      'a -----BEGIN PRIVATE KEY-----x-----BEGIN PRIVATE KEY-----y-----END PRIVATE KEY----- b',
      'a *** b',
    ],
    [
      'masks a private key after the end of another',
      'x-----END PRIVATE KEY----- a -----BEGIN PRIVATE KEY-----y-----END PRIVATE KEY----- b',
      'x-----END PRIVATE KEY----- a *** b',
    ],
    ['keeps the names of hosts', 'at orders-database.shop-0123456789.svc', 'at orders-database.shop-0123456789.svc'],
    ['masks the shortest JWT', 'eyJhbGciO.abcd', '***'],
    ['keeps a shorter first part', 'eyJhbGci.abcd', 'eyJhbGci.abcd'],
    ['keeps a shorter second part', 'eyJhbGciO.abc', 'eyJhbGciO.abc'],
    ['masks a private key without an end', 'a -----BEGIN EC PRIVATE KEY-----\nMHc\nx', 'a ***'],
    ['masks a secret query parameter', 'https://x.test/?a=1&api_key=q1w2&b=2', 'https://x.test/?a=1&api_key=***&b=2'],
  ]
  for (const [title, text, expected] of cases) it(title, () => expect(redacted(text)).to.equal(expected))

  it('changes nothing when it is applied again', () => {
    for (const [, text] of cases) expect(redacted(redacted(text))).to.equal(redacted(text))
  })
})
