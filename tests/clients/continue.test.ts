/** Continue, the shipped program, with a scripted model: what the model is shown of mcpx. */
import { continueCli } from './chat-programs.ts';
import { describeClient } from './journey.ts';

describeClient(continueCli);
