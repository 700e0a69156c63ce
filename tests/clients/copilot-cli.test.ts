/** Copilot CLI, the shipped program, with a scripted model: what the model is shown of mcpx. */
import { copilotCli } from './chat-programs.ts';
import { describeClient } from './journey.ts';

describeClient(copilotCli);
