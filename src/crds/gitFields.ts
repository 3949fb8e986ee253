import { z } from 'zod'
import {
  BRANCH,
  BRANCH_OR_TAG,
  BRANCH_PATTERN,
  isMisshapen,
  type NameRule,
  REPOSITORY,
} from '../contracts/sources/refs.ts'
import { matching, ruled } from './fields.ts'

/** Names at Git hosts: a field accepts what deliveries may contain, so that every pushed branch can be deployed. */

function named(rule: NameRule): z.ZodString {
  return ruled(z.string().min(1).max(rule.most), {
    // An empty text is refused by its minimum length.
    cel: `self == '' || !self.matches(r'${rule.impossible}')`,
    message: rule.message,
    test: (name) => name === '' || !isMisshapen(rule, name),
  })
}

export const BranchName = named(BRANCH)
export const BranchOrTag = named(BRANCH_OR_TAG)
export const BranchPattern = named(BRANCH_PATTERN)
export const RepositoryName = named(REPOSITORY)

export const CommitSha = matching(64, /^[0-9a-f]{7,64}$/, 'must be a commit hash of 7 to 64 hexadecimal digits')
